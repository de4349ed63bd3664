import { Button, createTheme, Loader, MantineProvider, Modal } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter';
import { nameOf } from '../../../core/fhir/resource.ts';
import type { Language } from '../../../packages/web/language.ts';
import { FRONT_DESK_PATH } from '../settings.ts';
import { textsOf } from '../texts/texts.ts';
import { AbsencesPage } from './absences/page.tsx';
import { ClinicPage } from './clinic/page.tsx';
import { CalendarPage } from './day/page.tsx';
import { HoursPage } from './hours/page.tsx';
import { MessagesPage } from './messages/page.tsx';
import { NotificationsPage } from './notifications/page.tsx';
import { MessageRegion, useAnnouncements } from './parts/announce.tsx';
import { Boundary } from './parts/boundary.tsx';
import { ServerSays } from './parts/problem.tsx';
import { useCounts } from './parts/use-counts.ts';
import { queries } from './parts/use-loaded.ts';
import { initialLanguage, rememberLanguage, TextsContext, useTexts } from './parts/use-texts.ts';
import { Finder } from './people/finder.tsx';
import { PersonPage } from './people/page.tsx';
import { RequestsPage } from './requests/page.tsx';
import { onSessionChange, type Person, sessionState, signIn, signOut } from './session/session.ts';

/** Mantine's theme with enough contrast for WCAG 2.2 AA, and no motion for people who want none. */
const theme = createTheme({
  primaryShade: 8,
  // The device's own typeface serves until Inter is loaded, and for scripts that Inter lacks.
  fontFamily: 'Inter, system-ui, sans-serif',
  respectReducedMotion: true,
  defaultRadius: 'sm',
  components: {
    // Without a role, the name of a loader would not be announced.
    Loader: { defaultProps: { role: 'progressbar' } },
    // Mantine's default for descriptions and placeholders has too little contrast.
    InputWrapper: { styles: { description: { color: 'var(--quiet)' } } },
  },
});

function SignIn({ problem }: { readonly problem: string | undefined }) {
  const { title, session } = useTexts();
  return (
    <main className="sign-in">
      <h1>{title}</h1>
      <p>{session.signInWhy}</p>
      {problem && (
        <div role="alert">
          <p>{session.failed}</p>
          <ServerSays sentences={[problem]} />
        </div>
      )}
      <Button onClick={() => void signIn()}>{session.signIn}</Button>
    </main>
  );
}

/** Asks for a new sign-in after a session has ended. Typed text is kept. */
function SignInAgain() {
  const { session } = useTexts();
  return (
    <Modal.Root opened onClose={() => undefined} closeOnEscape={false} closeOnClickOutside={false}>
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Header role="presentation">
          <Modal.Title>{session.expired}</Modal.Title>
        </Modal.Header>
        <Modal.Body>
          <p>{session.expiredWhy}</p>
          <Button data-autofocus onClick={() => void signIn()}>
            {session.signIn}
          </Button>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function Header({
  person,
  onLanguage,
}: {
  readonly person: Person;
  readonly onLanguage: (language: Language) => void;
}) {
  const { title, nav, session, language } = useTexts();
  const [location] = useLocation();
  const { settle } = useAnnouncements();
  const counts = useCounts();
  const other: Language = language === 'en' ? 'de' : 'en';
  const pages = [
    ['/calendar', nav.calendar, 0],
    ['/requests', nav.requests, counts.requests],
    ['/messages', nav.messages, counts.messages],
    ['/absences', nav.absences, 0],
    ['/hours', nav.hours, 0],
    ['/clinic', nav.clinic, 0],
    ['/notifications', nav.notifications, counts.notifications],
  ] as const;
  return (
    <header>
      <a className="skip" href="#main">
        {nav.skip}
      </a>
      <span className="brand">{title}</span>
      <nav aria-label={nav.label}>
        {pages.map(([path, label, count]) => (
          <Link key={path} href={path} aria-current={location.startsWith(path) ? 'page' : undefined}>
            {label}
            {count > 0 && <span className="badge"> {count}</span>}
          </Link>
        ))}
      </nav>
      <Finder />
      <div className="person">
        <span>{session.signedInAs(nameOf(person))}</span>
        <Button variant="default" size="xs" lang={other} onClick={() => onLanguage(other)}>
          {textsOf[other].languageName}
        </Button>
        <Button variant="default" size="xs" onClick={() => void settle().then(signOut)}>
          {session.signOut}
        </Button>
      </div>
    </header>
  );
}

function Pages() {
  const [location] = useLocation();
  return (
    <Boundary key={location}>
      <Switch>
        <Route path="/calendar" component={CalendarPage} />
        <Route path="/requests" component={RequestsPage} />
        <Route path="/messages" component={MessagesPage} />
        <Route path="/absences" component={AbsencesPage} />
        <Route path="/hours" component={HoursPage} />
        <Route path="/clinic" component={ClinicPage} />
        <Route path="/notifications" component={NotificationsPage} />
        <Route path="/people/:id" component={PersonPage} />
        <Route>
          <Redirect to="/calendar" replace />
        </Route>
      </Switch>
    </Boundary>
  );
}

/** The front desk: signing in, then its pages. */
export function App() {
  const [language, setLanguage] = useState(initialLanguage);
  const session = useSyncExternalStore(onSessionChange, sessionState);
  const texts = textsOf[language];
  useEffect(() => {
    document.documentElement.lang = language;
    document.title = texts.title;
  }, [language, texts]);
  const choose = (next: Language): void => {
    rememberLanguage(next);
    setLanguage(next);
  };
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <TextsContext.Provider value={texts}>
        {session.kind === 'loading' && (
          <main>
            <Loader aria-label={texts.loading} />
          </main>
        )}
        {session.kind === 'out' && <SignIn problem={session.problem} />}
        {(session.kind === 'in' || session.kind === 'expired') && (
          <QueryClientProvider client={queries}>
            <Router base={FRONT_DESK_PATH}>
              <MessageRegion>
                <Header person={session.profile} onLanguage={choose} />
                <main id="main" tabIndex={-1}>
                  <Pages />
                </main>
                {session.kind === 'expired' && <SignInAgain />}
              </MessageRegion>
            </Router>
          </QueryClientProvider>
        )}
      </TextsContext.Provider>
    </MantineProvider>
  );
}

import { countDown } from './hold.ts';
import './style.css';
import { type EnableWhen, isEnabled } from '../questionnaire/enable-when.ts';
import { watchState } from './watch.ts';

/** Key prefix of unsent input in the session storage. It is kept until the tab is closed or the form is booked. */
const PREFIX = 'portal form ';

function storage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

function fill(form: HTMLFormElement, values: URLSearchParams): void {
  for (const control of form.querySelectorAll<HTMLInputElement>('input[name], textarea[name], select[name]')) {
    const typed = values.getAll(control.name);
    if (control.type === 'radio' || control.type === 'checkbox') {
      control.checked = typed.includes(control.value);
    } else {
      control.value = typed[0] ?? '';
    }
  }
}

/** Keeps the input of a form across reloads and history navigation. */
function keepTyped(form: HTMLFormElement): void {
  const key = `${PREFIX}${form.getAttribute('action')}`;
  const kept = storage()?.getItem(key);
  if (kept) {
    fill(form, new URLSearchParams(kept));
  }
  form.addEventListener('input', () => {
    const values = [...new FormData(form)].map(([name, value]): [string, string] => [name, String(value)]);
    storage()?.setItem(key, new URLSearchParams(values).toString());
  });
}

function forgetTyped(): void {
  const kept = storage();
  for (const key of Object.keys(kept ?? {}).filter((one) => one.startsWith(PREFIX))) {
    kept?.removeItem(key);
  }
}

/** Shows the questions whose conditions hold. Disabled fields are not submitted. */
function showQuestionsThatApply(form: HTMLFormElement): void {
  const conditional = [...form.querySelectorAll<HTMLElement>('[data-when]')].map((element) => ({
    element,
    when: JSON.parse(element.dataset.when ?? '') as EnableWhen,
  }));
  for (const { element } of conditional) {
    element.querySelector('.condition')?.remove();
  }
  const show = (): void => {
    for (const { element, when } of conditional) {
      const values = new FormData(form);
      const isShown = isEnabled(when, (field) =>
        values
          .getAll(field)
          .map(String)
          .filter((value) => value !== ''),
      );
      element.hidden = !isShown;
      for (const control of element.querySelectorAll<HTMLInputElement>('input, select, textarea')) {
        control.disabled = !isShown;
      }
    }
  };
  if (conditional.length > 0) {
    form.addEventListener('input', show);
    show();
  }
}

/** Autofill tokens for a patient who books for themselves. */
const own = { given: 'given-name', family: 'family-name', birthDate: 'bday' } as const;

/** Enables autofill only if the patient is the person at the browser. */
function fillInWhoTypes(form: HTMLFormElement): void {
  const follow = (): void => {
    const isOther = form.querySelector('input.related:checked') !== null;
    for (const [name, token] of Object.entries(own)) {
      form.querySelector(`[name=${name}]`)?.setAttribute('autocomplete', isOther ? 'off' : token);
    }
  };
  form.addEventListener('input', follow);
  follow();
}

/** Reports the page's height to the embedding site, if it is a site of the clinic and has requested it. */
function tellHeight(origins: readonly string[]): void {
  let site: string | undefined;
  const tell = (): void => {
    if (site !== undefined) {
      parent.postMessage({ portalHeight: document.body.getBoundingClientRect().height }, site);
    }
  };
  addEventListener('message', ({ origin, source, data }) => {
    if (data === 'portal-height' && source === parent && origins.includes(origin)) {
      site = origin;
      tell();
    }
  });
  new ResizeObserver(tell).observe(document.body);
}

/** Hides the note on the time zone if the browser's clock shows the same time. */
function nameZone(note: HTMLElement): void {
  const inZone = (timeZone?: string): string =>
    new Date().toLocaleString('en', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  note.hidden = inZone(note.dataset.zone) === inZone();
}

function sendOnce(form: HTMLFormElement): void {
  let isSent = false;
  form.addEventListener('submit', (event) => {
    if (isSent) {
      event.preventDefault();
      return;
    }
    isSent = true;
    const button = event.submitter;
    if (button instanceof HTMLButtonElement && !button.classList.contains('first')) {
      button.setAttribute('aria-disabled', 'true');
      button.textContent = form.dataset.wait ?? button.textContent;
    }
  });
  // A page from the back/forward cache can be submitted again.
  addEventListener('pageshow', () => {
    isSent = false;
  });
}

/** Shows the date in words, because browsers differ in the order of day and month. */
function writeOut(day: HTMLOutputElement): void {
  const field = day.previousElementSibling as HTMLInputElement;
  const show = (): void => {
    // The first digits of a year are a valid year while it is entered.
    const date = field.value >= '1000' ? field.valueAsDate : null;
    day.value = date?.toLocaleDateString(day.dataset.locale, { dateStyle: 'long', timeZone: 'UTC' }) ?? '';
  };
  field.addEventListener('input', show);
  show();
}

function copyLink(button: HTMLButtonElement): void {
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(button.dataset.copy ?? '').then(() => {
      const statusLine = button.closest('section')?.querySelector('.status-line');
      if (statusLine) {
        statusLine.textContent = button.dataset.copied ?? '';
      }
    });
  });
}

/** Holds the time of a link when the page is first opened, but not after a reload or a return to it. */
function holdAtOnce(form: HTMLFormElement): void {
  const [navigation] = performance.getEntriesByType('navigation');
  const isFirst = navigation instanceof PerformanceNavigationTiming && navigation.type === 'navigate';
  if (isFirst && document.visibilityState === 'visible') {
    form.querySelector('button')?.click();
  }
}

for (const note of document.querySelectorAll<HTMLElement>('[data-zone]')) {
  nameZone(note);
}
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-wait]')) {
  sendOnce(form);
}
for (const form of document.querySelectorAll<HTMLFormElement>('form.hold-now')) {
  holdAtOnce(form);
}
for (const form of document.querySelectorAll<HTMLFormElement>('form.details')) {
  keepTyped(form);
  showQuestionsThatApply(form);
  fillInWhoTypes(form);
}
for (const day of document.querySelectorAll<HTMLOutputElement>('output[data-locale]')) {
  writeOut(day);
}
for (const panel of document.querySelectorAll<HTMLElement>('.hold[data-until]')) {
  countDown(panel);
}
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]')) {
  copyLink(button);
}
if (document.querySelector('.state')) {
  forgetTyped();
}
document.querySelector('form[action$="/leave"]')?.addEventListener('submit', forgetTyped);
addEventListener('pageshow', ({ persisted }) => {
  // The session may have ended since: the back/forward cache must not show appointments.
  if (persisted && document.querySelector('.state')) {
    location.reload();
  }
});
if (location.hash === '#people') {
  document.querySelector('.person[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
}
const { sites } = document.body.dataset;
if (sites) {
  tellHeight(sites.split(' '));
}
const statusLine = document.getElementById('state-status');
if (statusLine) {
  watchState(statusLine);
}

import { countDown } from './hold.ts';
import './style.css';
import { type EnableWhen, isEnabled } from '../questionnaire/enable-when.ts';
import { watchState } from './watch.ts';

/** What a tab keeps of the forms that were not sent yet, by their address; until it is closed, or they are booked with. */
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

/** Keeps what is typed into a form, through a reload and the ways back and forward. */
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

/** Forgets what was typed into all forms. */
function forgetTyped(): void {
  const kept = storage();
  for (const key of Object.keys(kept ?? {}).filter((one) => one.startsWith(PREFIX))) {
    kept?.removeItem(key);
  }
}

/** Shows the questions that apply, given the answers so far. Those that do not are not sent. */
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

/** By what a browser fills in the fields of a patient who types themselves. */
const own = { given: 'given-name', family: 'family-name', birthDate: 'bday' } as const;

/** Has the browser fill in who types, never the person for whom they book. */
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

/**
 * Tells the site that shows the page in a frame how high it is: only a site of the clinic, once it has asked.
 *
 * @param origins - of the clinic's sites
 */
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

/** The clinic's zone is named where the clocks of the browser show another time. Without scripts it always is. */
function nameZone(note: HTMLElement): void {
  const inZone = (timeZone?: string): string =>
    new Date().toLocaleString('en', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  note.hidden = inZone(note.dataset.zone) === inZone();
}

/** A form is sent once, however often its button is pressed, and says that it is under way. */
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
  // A page that comes back from the browser's memory can be sent again.
  addEventListener('pageshow', () => {
    isSent = false;
  });
}

/** Writes out the day beside a date field: which of its numbers is the month differs between browsers. */
function writeOut(day: HTMLOutputElement): void {
  const field = day.previousElementSibling as HTMLInputElement;
  const show = (): void => {
    // While a year is typed its first digits are a year, too.
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
      const news = button.closest('section')?.querySelector('.news');
      if (news) {
        news.textContent = button.dataset.copied ?? '';
      }
    });
  });
}

/** The time to which a link has led is held at once, but not again when somebody comes back to the page. */
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
  // The device may have forgotten them since: the browser's memory must not show appointments again.
  if (persisted && document.querySelector('.state')) {
    location.reload();
  }
});
const { sites } = document.body.dataset;
if (sites) {
  tellHeight(sites.split(' '));
}
const news = document.getElementById('state-news');
if (news) {
  watchState(news);
}

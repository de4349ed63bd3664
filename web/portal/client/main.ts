import { tellHeight } from './embedded.ts';
import { countDown } from './hold.ts';
import { forgetTyped, keepTyped } from './keep.ts';
import { showQuestionsThatApply } from './questions.ts';
import './style.css';
import { watchState } from './watch.ts';

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

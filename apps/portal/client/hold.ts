const STEP = 1_000;

/** The end of a hold on the page's monotonic clock, because the browser's time may be wrong. */
function endOf({ until, now }: DOMStringMap): number {
  return performance.now() + Date.parse(until ?? '') - Date.parse(now ?? '');
}

function written(milliseconds: number, locale: string | undefined): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / STEP));
  const digits = (value: number, minimumIntegerDigits: number): string =>
    value.toLocaleString(locale, { minimumIntegerDigits });
  return `${digits(Math.floor(seconds / 60), 1)}:${digits(seconds % 60, 2)}`;
}

/** Counts down. Screen readers hear it in the last minutes, when the hold can be prolonged, and at the end. */
export function countDown(panel: HTMLElement): void {
  const [remaining, statusLine] = [panel.querySelector('.remaining'), panel.querySelector('.status-line')];
  const button = panel.querySelector('button');
  const form = panel.closest('form');
  if (!remaining || !statusLine || !button || !form) {
    return;
  }
  let end = endOf(panel.dataset);
  const last = Number(panel.dataset.last);
  const showTimes = (isHeld: boolean): void => {
    for (const line of panel.querySelectorAll<HTMLElement>('.until, .left')) {
      line.hidden = !isHeld;
    }
  };
  const show = (): void => {
    const left = end - performance.now();
    remaining.textContent = written(left, panel.dataset.locale);
    button.hidden = left >= last;
    if (left < last && !panel.classList.contains('soon')) {
      panel.classList.add('soon');
      statusLine.textContent = panel.dataset.soon ?? '';
    }
    if (left <= 0 && !panel.classList.contains('over')) {
      panel.classList.add('over');
      showTimes(false);
      statusLine.textContent = panel.dataset.over ?? '';
    }
  };
  show();
  setInterval(show, STEP);
  button.addEventListener('click', (event) => {
    event.preventDefault();
    void prolong(form).then((answer) => {
      if (!answer) {
        form.requestSubmit(button);
        return;
      }
      statusLine.textContent = answer.notice ?? '';
      if (answer.until) {
        end = endOf(answer);
        panel.classList.remove('over');
        // Only the response is announced, not the warning again.
        panel.classList.toggle('soon', end - performance.now() < last);
        showTimes(true);
        const line = panel.querySelector('.until');
        if (line) {
          line.textContent = answer.line ?? '';
        }
        show();
      }
    });
  });
}

async function prolong(form: HTMLFormElement): Promise<Record<string, string> | undefined> {
  try {
    // The form has a button named `action`, which hides the property.
    const response = await fetch(form.getAttribute('action') ?? '', {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({ action: 'prolong' }),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

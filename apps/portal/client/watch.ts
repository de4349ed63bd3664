/** Interval of requests for updates, in milliseconds. */
const PAUSE = 3_000;

/** Maximum age of the shown state, in milliseconds: with and without notifications to the portal. */
const HEARD = 300_000;
const UNHEARD = { first: 3_000, longest: 30_000 };

/** Failed requests after which the page says that it is not up to date. */
const LOST = 3;

function sayWhetherBehind(statusLine: HTMLElement, isBehind: boolean): void {
  const { behind = '' } = statusLine.dataset;
  if (isBehind !== (statusLine.textContent === behind)) {
    statusLine.textContent = isBehind ? behind : '';
  }
}

/** Updates the state without a reload; focus and scroll position are kept, and the new state is announced. */
export function watchState(statusLine: HTMLElement): void {
  let readAt = performance.now();
  let unheard = UNHEARD.first;
  let lost = 0;
  const look = async (part: HTMLElement, { watch = '', updates: question = '' }: DOMStringMap): Promise<void> => {
    const heard = await ask(question);
    const age = performance.now() - readAt;
    let isAnswered = heard !== undefined;
    if (heard?.changed || age >= (heard?.complete ? HEARD : unheard)) {
      readAt = performance.now();
      const found = await show(part, watch, statusLine);
      unheard = found === 'changed' ? UNHEARD.first : Math.min(unheard * 1.2, UNHEARD.longest);
      isAnswered = found !== undefined;
    }
    lost = isAnswered ? 0 : lost + 1;
    sayWhetherBehind(statusLine, lost >= LOST);
  };
  const next = async (): Promise<void> => {
    const part = document.getElementById('state');
    if (!part?.dataset.watch) {
      return;
    }
    if (document.visibilityState === 'visible') {
      await look(part, part.dataset);
    }
    setTimeout(() => void next(), PAUSE);
  };
  setTimeout(() => void next(), PAUSE);
}

/** Requests whether the appointment may have changed; `undefined` if the request fails. */
async function ask(address: string): Promise<{ readonly changed?: boolean; readonly complete?: boolean } | undefined> {
  try {
    const response = await fetch(address, { headers: { accept: 'application/json' } });
    if (response.status === 404) {
      // The session has ended, perhaps in another tab: personal data must leave the screen.
      location.reload();
    }
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the title of an action ("Your appointment is booked"), which the new state may contradict. */
function showPlainTitle(): void {
  const title = document.querySelector<HTMLElement>('h1[data-later]');
  const { textContent = '', dataset } = title ?? {};
  if (title && textContent && dataset?.later) {
    document.title = document.title.replace(textContent, () => dataset.later ?? '');
    title.textContent = dataset.later;
  }
}

function showOffers(found: HTMLElement | null, statusLine: HTMLElement): void {
  const offers = document.getElementById('offers');
  if (offers && found && offers.innerHTML !== found.innerHTML) {
    offers.replaceWith(found);
    statusLine.textContent = found.querySelector('h2')?.textContent ?? statusLine.textContent;
  }
}

/** Replaces the actions. The focus stays on the same link, else it moves to the title. */
function showActions(found: HTMLElement | null): void {
  const actions = document.getElementById('actions');
  if (!actions || !found || actions.innerHTML === found.innerHTML) {
    return;
  }
  const focused = actions.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : undefined;
  actions.replaceWith(found);
  if (focused) {
    const same = [...found.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused);
    (same ?? document.querySelector('h1'))?.focus();
  }
}

/** Replaces the parts of the page. Returns whether the state has changed; `undefined` if the request fails. */
async function show(
  part: HTMLElement,
  address: string,
  statusLine: HTMLElement,
): Promise<'changed' | 'same' | undefined> {
  try {
    const response = await fetch(address, { headers: { accept: 'text/html' }, redirect: 'manual' });
    const text = response.ok ? await response.text() : '';
    const parsed = new DOMParser().parseFromString(text, 'text/html');
    const found = parsed.getElementById('state');
    if (!found) {
      return undefined;
    }
    showOffers(parsed.getElementById('offers'), statusLine);
    showActions(parsed.getElementById('actions'));
    if (found.innerHTML === part.innerHTML) {
      part.dataset.updates = found.dataset.updates ?? part.dataset.updates ?? '';
      return 'same';
    }
    part.replaceWith(found);
    if (found.dataset.state !== part.dataset.state) {
      showPlainTitle();
      statusLine.textContent = found.querySelector('.state')?.textContent ?? '';
    }
    return 'changed';
  } catch {
    return undefined;
  }
}

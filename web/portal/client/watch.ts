/** How often the page looks for news, in milliseconds: often at first, then more and more rarely. */
const FIRST = 3_000;
const LONGEST = 30_000;

/**
 * Shows what becomes of an appointment without a reload: the clinic's confirmation, a move, a cancellation. Focus and place
 * stay, and the new state is said aloud.
 */
export function watchState(news: HTMLElement): void {
  let pause = FIRST;
  const look = async (): Promise<void> => {
    const part = document.getElementById('state');
    const address = part?.dataset.watch;
    if (!part || !address) {
      return;
    }
    if (document.visibilityState === 'visible') {
      const changed = await newer(part, address);
      if (changed) {
        const before = part.dataset.state;
        part.replaceWith(changed);
        if (changed.dataset.state !== before) {
          news.textContent = changed.querySelector('.state')?.textContent ?? '';
        }
        pause = FIRST;
      }
    }
    pause = Math.min(pause * 1.2, LONGEST);
    setTimeout(() => void look(), pause);
  };
  setTimeout(() => void look(), pause);
}

/** The part as the server has it now, if it is another one. */
async function newer(part: HTMLElement, address: string): Promise<HTMLElement | undefined> {
  try {
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    const text = answer.ok ? await answer.text() : '';
    const found = new DOMParser().parseFromString(text, 'text/html').getElementById('state');
    return found && found.innerHTML !== part.innerHTML ? found : undefined;
  } catch {
    return undefined;
  }
}

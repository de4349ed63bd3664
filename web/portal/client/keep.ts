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
export function keepTyped(form: HTMLFormElement): void {
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
export function forgetTyped(): void {
  const kept = storage();
  for (const key of Object.keys(kept ?? {}).filter((one) => one.startsWith(PREFIX))) {
    kept?.removeItem(key);
  }
}

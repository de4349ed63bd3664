/** Markup that is safe to send: everything put into it was escaped, or was markup itself. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** The values of a template. `undefined`, `null` and `false` are left out. */
export type Content = Html | string | number | false | null | undefined | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function toMarkup(content: Content): string {
  if (content instanceof Html) {
    return content.text;
  }
  if (content === undefined || content === null || content === false) {
    return '';
  }
  return typeof content === 'object'
    ? content.map(toMarkup).join('')
    : String(content).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** A template of HTML. Values are escaped, in text and in quoted attributes. Markup comes from templates alone. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(strings.reduce((text, string, index) => `${text}${toMarkup(values[index - 1])}${string}`));
}

/** The favicon: a sheet of a calendar with a tick. */
export const icon = html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1" y="2" width="14" height="13" rx="2" fill="#0a5c8f"/><path d="M1.5 5.5h13M5 1v2.5M11 1v2.5M5 10l2 2 4-4" fill="none" stroke="#fff" stroke-width="1.5"/></svg>',
)}">`;

/** An attribute without a value, such as `checked`, if the condition holds. The name is never input. */
export function flag(name: 'checked' | 'selected' | 'required' | 'disabled' | 'multiple', isSet: boolean): Html {
  return new Html(isSet ? ` ${name}` : '');
}

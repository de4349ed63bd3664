import { type Content, flag, type Html, html } from '../../../packages/web/html.ts';
import type { Visit } from '../http/visit.ts';
import type { FieldProblem } from '../texts/texts.ts';
import type { FormValues } from '../visit/form.ts';

/** A form with its input and problems. */
export interface FormState {
  readonly form: FormValues;
  readonly problems: ReadonlyMap<string, FieldProblem>;
}

export interface TextField {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'date' | 'email' | 'tel' | 'url' | 'time' | 'datetime-local';
  readonly isRequired: boolean;
  /** Whether the label says "optional"; default: the opposite of `isRequired`. */
  readonly isOptional?: boolean;
  readonly maxLength?: number;
  readonly autocomplete?: string;
  readonly inputMode?: 'decimal' | 'numeric';
}

/** The element id of a field; names may contain dots. */
export const idOf = (name: string): string => `field-${name.replaceAll('.', '-')}`;

/** The problem of a field; its id is the target of `aria-describedby`. */
export function problemNote({ texts }: Visit, { problems }: FormState, name: string): Html | false {
  const problem = problems.get(name);
  return problem !== undefined && html`<p class="problem" id="${idOf(name)}-problem">${texts.problems[problem]}</p>`;
}

/** The ARIA attributes of an invalid field. */
export function described({ problems }: FormState, name: string): Content {
  return problems.has(name) && html` aria-invalid="true" aria-describedby="${idOf(name)}-problem"`;
}

export function labelText({ texts }: Visit, label: string, isOptional: boolean): Html {
  return html`${label}${isOptional && html` <span class="note">(${texts.details.optional})</span>`}`;
}

export function textField(visit: Visit, state: FormState, field: TextField): Html {
  const { name, label, type, isRequired, isOptional = !isRequired, maxLength, autocomplete, inputMode } = field;
  const id = idOf(name);
  return html`<div class="field"><label for="${id}">${labelText(visit, label, isOptional)}</label>
${problemNote(visit, state, name)}
<input id="${id}" name="${name}" type="${type}" value="${state.form.get(name)}"${flag('required', isRequired)}${
    maxLength !== undefined && html` maxlength="${maxLength}"`
  }${autocomplete && html` autocomplete="${autocomplete}"`}${inputMode && html` inputmode="${inputMode}"`}${described(state, name)}>${
    type === 'date' &&
    html`
<output for="${id}" class="note" data-locale="${visit.texts.locale}"></output>`
  }</div>`;
}

export function textArea(
  visit: Visit,
  state: FormState,
  name: string,
  label: string,
  isRequired: boolean,
  maxLength: number,
): Html {
  const id = idOf(name);
  return html`<div class="field"><label for="${id}">${labelText(visit, label, !isRequired)}</label>
${problemNote(visit, state, name)}
<textarea id="${id}" name="${name}" rows="3" maxlength="${maxLength}"${flag('required', isRequired)}${described(state, name)}>
${state.form.get(name)}</textarea></div>`;
}

/** The summary of a form's problems, with focus and links to the fields. */
export function problemSummary(
  { texts }: Visit,
  { problems }: FormState,
  labelOf: (name: string) => string,
): Html | false {
  const items = [...problems].map(
    ([name, problem]) => html`<li><a href="#${idOf(name)}">${labelOf(name)}: ${texts.problems[problem]}</a></li>`,
  );
  return (
    items.length > 0 &&
    html`<div class="alert" role="alert" tabindex="-1" autofocus><h2>${texts.problemsTitle}</h2><ul>${items}</ul></div>`
  );
}

import { flag, type Html, html } from '../../../packages/web/html.ts';
import type { Visit } from '../http/visit.ts';
import { otherField } from '../questionnaire/answers.ts';
import type { Control, Question } from '../questionnaire/questions.ts';
import {
  described,
  type FormState,
  idOf,
  labelText,
  problemNote,
  type TextField,
  textArea,
  textField,
} from './fields.ts';

type Render = (visit: Visit, state: FormState, question: Question) => Html;

const line =
  (type: TextField['type'], inputMode?: 'decimal' | 'numeric'): Render =>
  (visit, state, { field, text, isRequired, maxLength }) =>
    textField(visit, state, {
      name: field,
      label: text,
      type,
      isRequired,
      ...((type === 'text' || type === 'url') && { maxLength }),
      ...(inputMode && { inputMode }),
    });

/** Radio buttons for one answer, checkboxes for several. */
function choices(
  visit: Visit,
  state: FormState,
  question: Question,
  options: readonly (readonly [string, string])[],
): Html {
  const { field, text, isRequired, isRepeated } = question;
  const chosen = state.form.all(field);
  const type = isRepeated ? 'checkbox' : 'radio';
  const inputs = options.map(
    ([value, label], index) =>
      html`<label class="option"><input type="${type}" name="${field}" value="${value}"${
        index === 0 && html` id="${idOf(field)}"`
      }${flag('checked', chosen.includes(value))}${flag('required', isRequired && !isRepeated)}> ${label}</label>`,
  );
  const other =
    question.control === 'open-choice' &&
    textField(visit, state, {
      name: otherField(field),
      label: visit.texts.details.otherAnswer,
      type: 'text',
      isRequired: false,
      maxLength: question.maxLength,
    });
  return html`<fieldset class="field"${described(state, field)}><legend>${labelText(visit, text, !isRequired)}</legend>
${problemNote(visit, state, field)}${inputs}${other}</fieldset>`;
}

/** More options are a `select` element. */
const MAX_RADIOS = 8;

function selection(visit: Visit, state: FormState, { field, text, isRequired, options }: Question): Html {
  const [chosen] = state.form.all(field);
  const id = idOf(field);
  return html`<div class="field"><label for="${id}">${labelText(visit, text, !isRequired)}</label>
${problemNote(visit, state, field)}
<select id="${id}" name="${field}"${flag('required', isRequired)}${described(state, field)}><option value="">${visit.texts.details.choose}</option>
${options.map(({ label }, index) => html`<option value="${index}"${flag('selected', String(index) === chosen)}>${label}</option>`)}</select></div>`;
}

const choice: Render = (visit, state, question) => {
  const { control, isRepeated, isRequired, options } = question;
  if (control === 'choice' && !isRepeated && options.length > MAX_RADIOS) {
    return selection(visit, state, question);
  }
  // An open choice accepts a free answer instead: only the server can require one of the two.
  const free = control === 'open-choice' ? { ...question, isRequired: false } : question;
  return choices(
    visit,
    state,
    isRequired ? free : question,
    options.map(({ label }, index) => [String(index), label]),
  );
};

const controls: Readonly<Record<Control, Render>> = {
  group: (visit, state, { text, questions }) =>
    html`<fieldset class="group"><legend>${text}</legend>${questionFields(visit, state, questions)}</fieldset>`,
  display: (_visit, _state, { text }) => html`<p>${text}</p>`,
  boolean: (visit, state, question) =>
    choices(visit, state, { ...question, isRepeated: false }, [
      ['true', visit.texts.details.yes],
      ['false', visit.texts.details.no],
    ]),
  decimal: line('text', 'decimal'),
  integer: line('text', 'numeric'),
  date: line('date'),
  dateTime: line('datetime-local'),
  time: line('time'),
  string: line('text'),
  text: (visit, state, { field, text, isRequired, maxLength }) =>
    textArea(visit, state, field, text, isRequired, maxLength),
  url: line('url'),
  choice,
  'open-choice': choice,
  unsupported: ({ texts }, _state, { text }) =>
    html`<p><b>${text}</b><br><span class="note">${texts.details.notHere}</span></p>`,
};

/** Without scripts, conditional questions are shown with a note. Only the server requires their answers. */
export function questionFields(visit: Visit, state: FormState, questions: readonly Question[]): Html {
  const fields = questions.map((question) => {
    const { conditions } = question.enableWhen;
    const isConditional = conditions.length > 0;
    const shown = controls[question.control](
      visit,
      state,
      isConditional ? { ...question, isRequired: false } : question,
    );
    const inner = question.control !== 'group' && questionFields(visit, state, question.questions);
    return isConditional
      ? html`<div class="conditional" data-when="${JSON.stringify(question.enableWhen)}"><p class="note condition">${visit.texts.details.onlyIf}</p>${shown}${inner}</div>`
      : html`${shown}${inner}`;
  });
  return html`${fields}`;
}

import { type EnableWhen, isEnabled } from '../questionnaire/enable-when.ts';

/** Shows the questions that apply, given the answers so far. Those that do not are not sent. */
export function showQuestionsThatApply(form: HTMLFormElement): void {
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

/** What holds on every page, and how a hand goes on where chance alone would not: it fills in what a form needs. */
import { always, eventually, now } from '@antithesishq/bombadil';
import { actions, extract, getFingerprint, weighted } from '@antithesishq/bombadil/browser';
import { clicks, inputs, navigation, scroll, waitOnce } from '@antithesishq/bombadil/browser/defaults/actions';
import { clickablePoint, inViewport, isVisible } from '@antithesishq/bombadil/browser/dom';

export const words = extract(({ document }) => document.querySelector('main')?.innerText ?? '');

/** Nothing that only programs say. */
const broken = /undefined|\[object |\bNaN\b|Invalid Date|\{[a-z]\w+\}/;
export const everyWordIsForPeople = always(() => !broken.test(words.current));

const isWeb = extract(({ document }) => document.contentType === 'text/html');

/**
 * Wherever somebody is, soon something can be done there.
 *
 * @param selector - what counts as a way on
 */
export function goesOn(selector) {
  const ways = extract(({ document, window }) => {
    const all = [...document.querySelectorAll(selector)];
    return all.filter((one) => isVisible(window, one) && !one.matches(':disabled')).length;
  });
  return always(
    now(() => isWeb.current && ways.current === 0).implies(eventually(() => ways.current > 0).within(60, 'seconds')),
  );
}

const isBusy = extract(({ document }) => document.querySelector('.mantine-Loader-root, [aria-busy=true]') !== null);
export const whatLoadsIsThereSoon = always(
  now(() => isBusy.current).implies(eventually(() => !isBusy.current).within(90, 'seconds')),
);

const status = extract(({ window }) => window.performance.getEntriesByType('navigation')[0]?.responseStatus ?? 200);
export const noServerError = always(() => status.current < 500);

/** What a field is given by those who mean it. */
const typed = {
  given: 'Kim|Zoë|Ayşe|محمد',
  family: "Muster|O'Neil|Öztürk|Сидоренко",
  birthDate: '19[5-9][0-9]-0[1-9]-[12][0-9]',
  date: '202[67]-0[1-9]-[12][0-9]',
  time: '(0[89]|1[0-7]):[0-5]0',
  'datetime-local': '2026-1[12]-[12][0-9]T(0[89]|1[0-7]):[0-5]0',
  email: 'kim@example\\.org',
  telephone: '0170 [0-9]{7}',
};
const field = extract(({ document }) => {
  // The hand types into fields of text alone: browsers that know no fields of dates show these, too.
  for (const one of document.querySelectorAll('input[type=date], input[type=time], input[type=datetime-local]')) {
    one.name ||= one.type;
    one.type = 'text';
  }
  const one = document.activeElement;
  return one instanceof HTMLInputElement && one.value === '' ? { name: one.name, type: one.type } : null;
});
const wanted = extract(({ document, window }) => {
  const form = document.querySelector('[role=dialog]') ?? document.querySelector('main') ?? document;
  const empty = [...form.querySelectorAll('form input, form textarea')].filter(
    (one) =>
      one.required &&
      (one.type === 'radio' || one.type === 'checkbox' ? !one.checked : one.value === '') &&
      isVisible(window, one),
  );
  const buttons = [
    ...form.querySelectorAll('form button.primary, .times button, [role=dialog] form button[type=submit]'),
  ];
  return [...empty.slice(0, 1), ...(empty.length === 0 ? buttons.slice(0, 3) : [])].flatMap((element) => {
    const point = clickablePoint(element);
    return point && inViewport(window, point) ? [{ fingerprint: getFingerprint(element), point }] : [];
  });
});

/** Fills in a form as its author hopes. */
export const fill = actions(() => {
  const text =
    field.current &&
    (typed[field.current.name] ?? { email: typed.email, tel: typed.telephone, text: typed.family }[field.current.type]);
  return text
    ? [{ TypeText: { text: { Regexp: text }, delayMillis: 1 } }]
    : wanted.current.map((target) => ({ Click: target }));
});

export const hand = weighted([
  [100, fill],
  [100, clicks],
  [30, inputs],
  [30, scroll],
  [10, navigation],
  [2, waitOnce],
]);

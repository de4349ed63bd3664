/** What holds at the front desk, whatever somebody presses. */
import { always } from '@antithesishq/bombadil';
import { extract } from '@antithesishq/bombadil/browser';

export {
  noConsoleErrors,
  noUncaughtExceptions,
  noUnhandledPromiseRejections,
} from '@antithesishq/bombadil/browser/defaults/properties';

import { goesOn } from './common.js';

export { everyWordIsForPeople, hand, noServerError, whatLoadsIsThereSoon } from './common.js';

/** A list may be empty. */
export const noDeadEnd = goesOn('header nav a, main button, [role=dialog] button');

/** What the drawer of an appointment says: compared with the store when all is over. */
const said = extract(({ document, window }) => {
  const id = new URLSearchParams(window.location.search).get('open')?.match(/^Appointment\/([\w-]+)$/)?.[1];
  const facts = document.querySelector('[role=dialog] .facts')?.innerText ?? '';
  return id && /^(booked|gebucht)$/im.test(facts) ? { id, state: 'confirmed' } : null;
}).named('said');
export const whatIsSaidHasAnId = always(() => said.current?.id !== '');

/** A page that could not be drawn says so; it never has to. */
const isFallen = extract(({ document }) =>
  /cannot be shown|kann nicht angezeigt/.test(document.querySelector('h1')?.innerText ?? ''),
);
export const everyPageCanBeDrawn = always(() => !isFallen.current);

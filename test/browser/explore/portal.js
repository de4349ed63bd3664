/** What holds in the portal, whatever somebody presses. */
import { always } from '@antithesishq/bombadil';
import { extract } from '@antithesishq/bombadil/browser';

export {
  noConsoleErrors,
  noUncaughtExceptions,
  noUnhandledPromiseRejections,
} from '@antithesishq/bombadil/browser/defaults/properties';

import { goesOn } from './common.js';

export { everyWordIsForPeople, hand, noServerError, whatLoadsIsThereSoon } from './common.js';

/** The menu does not count. */
export const noDeadEnd = goesOn('main a[href], main button, main input');

/** What the page says of an appointment: compared with the store when all is over, as a page that is looked at asks nobody. */
const said = extract(({ document, window }) => {
  const state = document.querySelector('#state')?.dataset.state;
  const id = window.location.pathname.match(/^\/portal\/appointments\/([\w-]+)$/)?.[1];
  return state && id ? { id, state } : null;
}).named('said');
export const everyAppointmentHasAState = always(() => said.current === null || said.current.state !== 'unclear');

const width = extract(({ document, window }) => document.documentElement.scrollWidth - window.innerWidth);
export const nothingIsWiderThanTheScreen = always(() => width.current <= 1);

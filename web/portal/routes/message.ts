import type { Parameters } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference/reference.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Visit } from '../http/visit.ts';
import { failurePage } from '../pages/failure.ts';
import { type Answerable, messageAnswers, messagePage } from '../pages/message.ts';
import { noSession, withMore } from '../session/session.ts';
import { failureOf, reasonOf } from './refusals.ts';

const named = ({ parameter = [] }: Parameters, name: string) => parameter.filter((one) => one?.name === name);

function answerable(found: Parameters): Answerable {
  const codes = named(found, 'answer').map(({ valueCode }) => valueCode);
  return {
    start: parseInstant(named(found, 'start')[0]?.valueInstant),
    end: parseInstant(named(found, 'end')[0]?.valueInstant),
    isCancelled: named(found, 'status')[0]?.valueCode === 'cancelled',
    possible: messageAnswers.filter((one) => codes.includes(one)),
  };
}

const phoneOf = async ({ portal }: Visit) => (await portal.clinic()).phone;

/** `GET /message/:id`: what a message is about, and the answers. Nothing is answered by it. */
export const showMessage: PageHandler = async (visit) => {
  const found = await visit.portal.service.answer(visit.id);
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found) === 'notFound' ? 'linkInvalid' : 'unavailable');
  }
  return messagePage(visit, answerable(found), await phoneOf(visit));
};

/** `POST /message/:id`: the answer. To another time leads the appointment's own page, in a session that sees only it. */
export const answerMessage: PageHandler = async (visit) => {
  const { portal, id, form, session } = visit;
  const answer = messageAnswers.find((one) => one === form.get('answer'));
  const found = await portal.service.answer(id, answer === 'move' ? undefined : answer);
  if (!isRefusal(found)) {
    const own = named(found, 'appointment')[0]?.valueReference?.reference?.split('/')[1];
    if (answer === 'move' && isId(own)) {
      const seen = withMore(session.appointments.includes(own) ? session : noSession, { appointments: [own] });
      return { kind: 'redirect', to: `${portal.options.path}/appointments/${own}`, session: seen };
    }
    return messagePage(visit, answerable(found), await phoneOf(visit), answer && { answer });
  }
  const now = await portal.service.answer(id);
  return isRefusal(now)
    ? failurePage(visit, failureOf(now) === 'notFound' ? 'linkInvalid' : 'unavailable')
    : messagePage(visit, answerable(now), await phoneOf(visit), { refusal: reasonOf(found) });
};

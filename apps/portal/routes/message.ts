import type { Parameters } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { isRefusal } from '../fhir/client.ts';
import type { PageHandler, Reply, Visit } from '../http/visit.ts';
import { type Movable, movePage } from '../pages/appointment.ts';
import { failureOf, failurePage } from '../pages/failure.ts';
import { messageAnswers, messagePage, type RepliableMessage } from '../pages/message.ts';
import { noSession, withMore } from '../session/session.ts';
import { parseTime } from '../visit/chosen-time.ts';
import { moveBy } from './appointments.ts';
import { reasonOf } from './refusals.ts';
import { serviceOf } from './under-way.ts';

const named = ({ parameter = [] }: Parameters, name: string) => parameter.filter((one) => one?.name === name);

function answerable(found: Parameters): RepliableMessage {
  const codes = named(found, 'answer').map(({ valueCode }) => valueCode);
  return {
    start: parseInstant(named(found, 'start')[0]?.valueInstant),
    end: parseInstant(named(found, 'end')[0]?.valueInstant),
    isCancelled: named(found, 'status')[0]?.valueCode === 'cancelled',
    possible: messageAnswers.filter((one) => codes.includes(one)),
  };
}

const phoneOf = async ({ portal }: Visit) => (await portal.clinic()).phone;

/** `GET /message/:id`: the appointment of a message and the possible replies. Opening it sends no reply. */
export const showMessage: PageHandler = async (visit) => {
  const found = await visit.portal.service.answer(visit.id);
  if (isRefusal(found)) {
    const failure = failureOf(found);
    return failurePage(visit, failure === 'notFound' ? 'linkInvalid' : failure);
  }
  return messagePage(visit, answerable(found), await phoneOf(visit));
};

/** Redirects to the appointment's page, in a session with access to it, or to the free times of the service. */
async function toAnotherTime(visit: Visit): Promise<Reply | undefined> {
  const { portal, id, session } = visit;
  const found = await portal.service.answer(id, 'move');
  if (isRefusal(found)) {
    return undefined;
  }
  const { path } = portal.options;
  const own = named(found, 'appointment')[0]?.valueReference?.reference?.split('/')[1];
  if (isId(own)) {
    const seen = withMore(session.appointments.includes(own) ? session : noSession, { appointments: [own] });
    return { kind: 'redirect', to: `${path}/appointments/${own}`, session: seen };
  }
  const coding = listOf(named(found, 'serviceType')[0]?.valueCodeableConcept?.coding)[0];
  const payer = named(found, 'payer-kind')[0]?.valueCoding?.code;
  const query = { service: `${coding?.system ?? ''}|${coding?.code}`, ...(payer && { payer }), message: id };
  const service = coding?.code === undefined ? undefined : await serviceOf(visit, query.service, payer);
  return service && !isRefusal(service)
    ? { kind: 'redirect', to: `${path}/times?${new URLSearchParams(query).toString()}` }
    : undefined;
}

/** The appointment that a message's link can move; otherwise the page of the message. */
export async function movedBy(visit: Visit, token: string): Promise<Movable | Reply> {
  const found = await visit.portal.service.answer(token);
  if (isRefusal(found)) {
    return failurePage(visit, failureOf(found) === 'notFound' ? 'linkInvalid' : 'unavailable');
  }
  const about = answerable(found);
  return about.possible.includes('move')
    ? { own: `${visit.portal.options.path}/message/${encodeURIComponent(token)}`, start: about.start, end: about.end }
    : messagePage({ ...visit, id: token }, about, await phoneOf(visit));
}

/** `GET /message/:id/move`: asks first. */
export const askMessageMove: PageHandler = async (visit) => {
  const { query, id } = visit;
  const time = parseTime(query.get('time'));
  const service = await serviceOf(visit, query.get('service'), query.get('payer'));
  if (!time || !service) {
    return failurePage(visit, 'notFound');
  }
  const movable = isRefusal(service) ? failurePage(visit, 'unavailable') : await movedBy(visit, id);
  return 'kind' in movable || isRefusal(service) ? (movable as Reply) : movePage(visit, { ...movable, service }, time);
};

/** `POST /message/:id/move`: moves an appointment of any portal. The service notifies the portal that booked it. */
export const moveByMessage: PageHandler = async (visit) => {
  const { portal, id, form } = visit;
  const [key, payer] = [form.get('service'), form.get('payer')];
  const movable = await movedBy(visit, id);
  if ('kind' in movable) {
    return movable;
  }
  return moveBy(
    visit,
    movable,
    [key, payer],
    ({ slot, start, end }) =>
      portal.service.answer(id, 'move', { slot, start: formatInstant(start), end: formatInstant(end) }),
    async (moved) => messagePage(visit, answerable(moved), await phoneOf(visit), { answer: 'moved' }),
  );
};

/** `POST /message/:id`: sends the reply. */
export const replyToMessage: PageHandler = async (visit) => {
  const { portal, id, form } = visit;
  const answer = messageAnswers.find((one) => one === form.get('answer'));
  const found = await portal.service.answer(id, answer === 'move' ? undefined : answer);
  if (!isRefusal(found)) {
    const isMovable = answer === 'move' && answerable(found).possible.includes('move');
    const elsewhere = isMovable ? await toAnotherTime(visit) : undefined;
    if (elsewhere) {
      return elsewhere;
    }
    return messagePage(visit, answerable(found), await phoneOf(visit), answer && { answer });
  }
  const now = await portal.service.answer(id);
  return isRefusal(now)
    ? failurePage(visit, failureOf(now) === 'notFound' ? 'linkInvalid' : 'unavailable')
    : messagePage(visit, answerable(now), await phoneOf(visit), { refusal: reasonOf(found) });
};

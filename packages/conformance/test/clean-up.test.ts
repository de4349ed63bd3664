import { describe, expect, it } from '@jest/globals';
import { cleanUp, type Ledger, type Left } from '../clean-up.ts';
import type { Client, KitResponse, Sent } from '../client.ts';

const booked = { resourceType: 'Appointment', id: '1', status: 'booked' };

const answer = (status: number, resource?: unknown, header = {}): KitResponse => ({
  status,
  header,
  text: '',
  resource,
});

/** A server that answers requests of a method with these answers in turn, then with the last of them for good. */
function serverOf(answers: Readonly<Record<string, readonly KitResponse[]>>): Client & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  return {
    baseUrl: 'https://fhir.example.org',
    sent,
    send: async (request) => {
      const earlier = sent.filter(({ method }) => method === request.method).length;
      sent.push(request);
      const known = answers[request.method] ?? [];
      return known[Math.min(earlier, known.length - 1)] ?? answer(404);
    },
  };
}

const referencesOf = (left: readonly Left[]): string[] => left.map(({ reference }) => reference);

const ledger: Ledger = { made: new Map([['Appointment', new Set(['Appointment/1'])]]) };
const read = answer(200, booked);
const busy = answer(503, undefined, { 'retry-after': '0' });

describe('what the checks have made', () => {
  it.each([408, 409, 412, 429, 502, 503, 504])(
    'is taken back at a later attempt where the first is answered %i',
    async (status) => {
      const requestor = serverOf({
        GET: [read],
        PATCH: [answer(status, undefined, { 'retry-after': '0' }), answer(200)],
      });
      expect(await cleanUp(requestor, undefined, ledger)).toEqual([]);
      expect(requestor.sent.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'GET', 'PATCH']);
    },
  );

  it('is not cancelled unread: a read that fails is tried again, too', async () => {
    const requestor = serverOf({ GET: [busy, read], PATCH: [answer(200)] });
    expect(await cleanUp(requestor, undefined, ledger)).toEqual([]);
    expect(requestor.sent.map(({ method }) => method)).toEqual(['GET', 'GET', 'PATCH']);
  });

  it('is taken back although a connection was closed before the answer', async () => {
    const server = serverOf({ GET: [read], PATCH: [answer(200)] });
    let closed = 0;
    const send = async (request: Sent) => {
      if (request.method === 'PATCH' && closed === 0) {
        closed++;
        throw new TypeError('fetch failed');
      }
      return server.send(request);
    };
    expect(await cleanUp({ ...server, send }, undefined, ledger)).toEqual([]);
    expect(server.sent.map(({ method }) => method)).toEqual(['GET', 'GET', 'PATCH']);
  });

  it('is found by its patient where the answer to the booking did not name it, and what others have booked is let alone', async () => {
    const of = (id: string, actor: string) => ({ ...booked, id, participant: [{ actor: { reference: actor } }] });
    const all = [
      of('1', 'Patient/1'),
      of('2', 'Patient/2'),
      of('3', 'Patient/11'),
      { resourceType: 'Patient', id: '1' },
    ];
    const searchset = { resourceType: 'Bundle', type: 'searchset', entry: all.map((resource) => ({ resource })) };
    const requestor = serverOf({ GET: [answer(200, searchset), read], PATCH: [answer(200)] });
    const made = new Map([['Patient', new Set(['Patient/1'])]]);
    expect(await cleanUp(requestor, undefined, { made })).toEqual([]);
    expect(requestor.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /Appointment?patient=Patient/1&_count=100',
      'GET /Appointment/1',
      'PATCH /Appointment/1',
      'GET /Patient/1',
    ]);
  });

  it.each([
    ['Slot', 'Schedule', 'schedule'],
    ['QuestionnaireResponse', 'Patient', 'subject'],
  ])('is deleted with each %s that belongs to it, and with no other', async (type, whole, element) => {
    const entry = ['1', '2'].map((id) => ({
      resource: {
        resourceType: type,
        id,
        [element]: { reference: `https://fhir.example.org/${whole}/${id}/_history/1` },
      },
    }));
    const staff = serverOf({ GET: [answer(200, { resourceType: 'Bundle', entry })], DELETE: [answer(204)] });
    expect(await cleanUp(serverOf({}), staff, { made: new Map([[whole, new Set([`${whole}/1`])]]) })).toEqual([]);
    expect(staff.sent.flatMap(({ method, path }) => (method === 'DELETE' ? [path] : []))).toEqual([
      `/${type}/1`,
      `/${whole}/1`,
    ]);
  });

  it.each([
    ['is put off at first', busy, []],
    ['is refused', answer(403), [{ reference: 'Appointment?patient=Patient/1', reason: '403' }]],
  ])('is taken back, or its patient named, where a search for it %s', async (_, first, left) => {
    const own = { ...booked, participant: [{ actor: { reference: 'Patient/1' } }] };
    const searchset = answer(200, { resourceType: 'Bundle', entry: [{ resource: own }] });
    const requestor = serverOf({ GET: [first, left.length > 0 ? answer(404) : searchset, read], PATCH: [answer(200)] });
    expect(await cleanUp(requestor, undefined, { made: new Map([['Patient', new Set(['Patient/1'])]]) })).toEqual(left);
    expect(requestor.sent.filter(({ method }) => method === 'PATCH')).toHaveLength(left.length > 0 ? 0 : 1);
  });

  it('is named if the requestor may not take it back', async () => {
    const requestor = serverOf({ GET: [read], PATCH: [{ ...answer(403), text: 'not yours' }] });
    expect(await cleanUp(requestor, undefined, ledger)).toEqual([
      { reference: 'Appointment/1', reason: '403 not yours' },
    ]);
    expect(requestor.sent).toHaveLength(2);
  });

  it.each([
    [204, []],
    [404, []],
    [403, ['Appointment/1']],
  ])('is left only if staff cannot delete it either: %i', async (status, left) => {
    const requestor = serverOf({ GET: [read], PATCH: [answer(403)] });
    expect(referencesOf(await cleanUp(requestor, serverOf({ DELETE: [answer(status)] }), ledger))).toEqual(left);
  });
});

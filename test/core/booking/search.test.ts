import { describe, expect, it } from '@jest/globals';
import type { BundleEntry, Resource } from '@medplum/fhirtypes';
import { bookingReads, missingSlotReads } from '../../../core/booking/book/reads.ts';
import { parseBookRequest } from '../../../core/booking/book/request/request.ts';
import { hasMore, identifierQuery, pagesOf, readState, readsById, searchByIds } from '../../../core/booking/search.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { requestorQuery } from '../../../core/fhir/tags.ts';
import { appointment, at, config, parameters, patient, requestor, resourceParameter, schedule } from './support.ts';

const urlsOf = (entries: readonly BundleEntry[] = []) =>
  entries.map(({ request }) => decodeURIComponent(request?.url ?? ''));

describe('a search by ids', () => {
  it('names each id once and asks for all of them at once', () => {
    const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
    expect(urlsOf(searchByIds('Slot', ['a', undefined, 'b', 'a']))).toEqual(['Slot?_id=a,b&_count=20']);
    expect(urlsOf(searchByIds('Slot', ids))[0]).toContain('_count=30');
  });

  it('is left out without ids', () => {
    expect(searchByIds('Slot', [undefined])).toEqual([]);
  });
});

it('what cannot be an id is not read', () => {
  expect(readsById('Patient', ['a', 'a', undefined, '../b', '..'])).toEqual([
    { request: { method: 'GET', url: 'Patient/a' } },
  ]);
});

describe('a search by identifier', () => {
  it('takes characters that mean something in a search by themselves', () => {
    expect(identifierQuery([{ system: 'urn:a|b', value: '1,2$3\\4' }], 'tag')).toEqual([
      ['identifier', 'urn:a\\|b|1\\,2\\$3\\\\4'],
      ['_tag', 'tag'],
    ]);
  });

  it('takes several, one without a system too, and leaves out what has no value', () => {
    expect(identifierQuery([{ value: '1' }, { system: 'urn:a' }, { system: 'urn:a', value: '2' }], 'tag')?.[0]).toEqual(
      ['identifier', '|1,urn:a|2'],
    );
  });

  it.each([[undefined], [[]], [[{ system: 'urn:a' }]]])('is left out without values', (identifiers) => {
    expect(identifierQuery(identifiers, 'tag')).toBeUndefined();
  });
});

describe('the answer to a batch', () => {
  const found = { response: { status: '200' }, resource: patient };
  const outcome = { resourceType: 'OperationOutcome' as const, issue: [] };

  it('is all that was found, by search or by id', () => {
    const entry: BundleEntry[] = [
      found,
      {
        response: { status: '200 OK' },
        resource: { resourceType: 'Bundle', type: 'searchset', entry: [{ resource: schedule }] },
      },
      { response: { status: '404' }, resource: outcome },
    ];
    const read = readState({ resourceType: 'Bundle', type: 'batch-response', entry });
    expect(read).toEqual({
      state: new Map<string, Resource>([
        ['Patient/anna', patient],
        ['Schedule/calendar', schedule],
      ]),
    });
  });

  it.each(['403', '404', '410'])('with status %s in it is that there is nothing', (status) => {
    const read = readState({ resourceType: 'Bundle', type: 'batch-response', entry: [{ response: { status } }] });
    expect(read).toEqual({ state: new Map() });
  });

  it.each([['429'], ['500'], ['503'], ['400'], [undefined]])(
    'with status %s in it is a failure, though the rest was found',
    (status) => {
      const failed: BundleEntry = status === undefined ? { resource: outcome } : { response: { status } };
      const read = readState({ resourceType: 'Bundle', type: 'batch-response', entry: [found, failed] });
      expect(read).toEqual({ status: Number(status ?? 500) });
    },
  );

  it('without entries is that there is nothing', () => {
    expect(readState({ resourceType: 'Bundle', type: 'batch-response' })).toEqual({ state: new Map() });
  });
});

describe('what a booking reads', () => {
  const tag = requestorQuery(requestor, config);
  const reads = (body: unknown): string[] => {
    const { request } = parseBookRequest(body, config);
    return request ? urlsOf(bookingReads(request, requestor, config).entry) : [];
  };

  const withSchedule = '_include=Slot:schedule&_include:iterate=Schedule:actor';
  const taken = `status=busy,busy-tentative,busy-unavailable&start=lt${at('09:30')}&end=gt${at('09:00')}&_count=1000`;

  it('are the slots with their schedules, what is taken and published there at that time, and the patients', () => {
    expect(reads(appointment())).toEqual([
      `Slot?schedule:Schedule._has:Slot:schedule:_id=nine&status=free,busy,busy-tentative,busy-unavailable&_filter=status+ne+"free"+or+identifier+eq+"${artefactUri(config, 'LocalPublishedSlot')}|"+or+_id+eq+"nine"&start=lt${at('09:30')}&end=gt${at('09:00')}&_count=950&${withSchedule}`,
      'Patient/anna',
    ]);
  });

  it('are the slots alone where no time is named, and those that were not found at the time', () => {
    const byId = (ids: string) => `Slot?_id=${ids}&_count=20&${withSchedule}`;
    expect(reads({ ...appointment(), start: undefined, end: undefined })[0]).toBe(byId('nine'));
    const { request } = parseBookRequest(
      appointment({ slot: [{ reference: 'Slot/nine' }, { reference: 'Slot/ten' }] }),
      config,
    );
    const missing = (...found: string[]) =>
      request ? urlsOf(missingSlotReads(request, new Map(found.map((id) => [`Slot/${id}`, appointment()])))) : [];
    expect([missing(), missing('nine'), missing('nine', 'ten')]).toEqual([[byId('nine,ten')], [byId('ten')], []]);
  });

  it('are the free slots at its time where a schedule alone is named', () => {
    const { slot: _, ...body } = appointment();
    const named = { name: 'schedule', valueReference: { reference: 'Schedule/calendar' } };
    expect(reads(parameters(resourceParameter('appt-resource', body), named))).toEqual([
      'Schedule?_id=calendar&_count=20&_include=Schedule:actor',
      `Slot?schedule=Schedule/calendar&status=free&start=lt${at('09:30')}&end=gt${at('09:00')}&_sort=start&_count=500`,
      `Slot?schedule=Schedule/calendar&${taken}`,
      'Patient/anna',
    ]);
  });

  it('are earlier appointments and persons with the same identifiers, of the same requestor', () => {
    const identifier = [{ system: 'urn:kvnr', value: 'A123' }];
    const body = appointment({ id: 'known', identifier });
    const replaced = { name: 'cancelled-appt-id', valueUri: 'old' };
    const related = { resourceType: 'RelatedPerson', identifier, patient: {} };
    const withSlots = '_include=Appointment:slot&_include=Appointment:patient&_include:iterate=Slot:schedule';
    const found = reads(
      parameters(
        resourceParameter('appt-resource', body),
        resourceParameter('patient', patient),
        resourceParameter('related-person', related),
        replaced,
      ),
    );
    expect(found.slice(2)).toEqual([
      `Patient?identifier=urn:kvnr|A123&_tag=${tag}`,
      `RelatedPerson?identifier=urn:kvnr|A123&_tag=${tag}`,
      `Appointment?identifier=urn:kvnr|A123&_tag=${tag}&${withSlots}`,
      `Appointment?_id=known,old&_count=20&${withSlots}`,
    ]);
  });
});

it('a search is repeated page by page, in one order, so that no slot falls between two pages', () => {
  const pages = urlsOf(pagesOf({ request: { method: 'GET', url: 'Slot?status=busy&_count=1000' } }));
  const page = (offset: number) => `Slot?status=busy&_count=1000&_sort=start,_id&_offset=${offset}`;
  expect(pages).toEqual(Array.from({ length: 10 }, (_, index) => page(index * 1000)));
});

it('a search has found more if its answer has another page', () => {
  const answered = (relation?: string): BundleEntry => ({
    resource: { resourceType: 'Bundle', type: 'searchset', ...(relation && { link: [{ relation, url: 'urn:x' }] }) },
  });
  const answers = [answered('next'), answered('self'), answered(), { resource: patient }, {}];
  expect(answers.map(hasMore)).toEqual([true, false, false, false, false]);
});

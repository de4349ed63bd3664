import { describe, expect, it } from '@jest/globals';
import { toXml } from '../../../core/fhir/xml/write.ts';
import { readXml } from '../../lib/read-xml.ts';
import { aClinic, proposed } from '../fixtures.ts';
import { type Answer, request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';

describe('XML', () => {
  const xml = { accept: 'application/fhir+xml' } as const;
  const sent = { ...xml, 'content-type': 'application/fhir+xml' } as const;

  /** The resource in an answer in XML. */
  function readIn({ headers, text }: Answer): unknown {
    expect(headers.get('content-type')).toBe('application/fhir+xml; charset=utf-8');
    const reading = readXml(text);
    return 'value' in reading ? reading.value : reading.issues;
  }

  it('books, reads, changes and answers in it', async () => {
    const { slot, patient } = await aClinic();
    const parameter = [{ name: 'appt-resource', resource: proposed(patient, [slot]) }];
    const body = toXml({ resourceType: 'Parameters', parameter });
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    const booked = readIn(answer);
    expect([answer.status, booked]).toEqual([201, expect.objectContaining({ status: 'booked', start: slot.start })]);
    const path = answer.headers.get('location')?.replace(base, '') ?? '';
    expect((await request('portal-a', 'GET', path)).body).toEqual(booked);
    const part = [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Appointment.status' },
      { name: 'value', valueCode: 'cancelled' },
    ];
    const patch = toXml({ resourceType: 'Parameters', parameter: [{ name: 'operation', part }] });
    const changed = await request('portal-a', 'PATCH', path, { body: patch, headers: sent });
    expect([changed.status, readIn(changed)]).toEqual([200, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('refuses in it, with everything that is wrong', async () => {
    const { slot, patient } = await aClinic();
    const body = toXml(proposed(patient, [slot])).replace(
      '<status value="proposed"/>',
      '<status/><mood value="good"/>',
    );
    const answer = await request('portal-a', 'POST', '/Appointment/$book', { body, headers: sent });
    expect([answer.status, readIn(answer)]).toEqual([
      400,
      expect.objectContaining({
        issue: [
          expect.objectContaining({ expression: ['Appointment.status'] }),
          expect.objectContaining({ expression: ['Appointment.mood'] }),
        ],
      }),
    ]);
    expect(resourceIn('Slot', await request('portal-a', 'GET', `/Slot/${slot.id}`)).status).toBe('free');
  });

  it.each(['text/turtle', 'text/html'])('neither takes nor gives %s', async (type) => {
    const { slot, patient } = await aClinic();
    const options = { body: toXml(proposed(patient, [slot])), headers: { 'content-type': type } };
    expect((await request('portal-a', 'POST', '/Appointment/$book', options)).status).toBe(415);
    expect((await request('portal-a', 'GET', '/Slot?_count=1', { headers: { accept: type } })).status).toBe(406);
  });
});

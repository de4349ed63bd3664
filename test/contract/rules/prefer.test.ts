import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { aClinic, book, proposed } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

describe('Prefer: return is honoured on every write', () => {
  it.each([
    ['return=minimal', ''],
    ['RETURN="minimal"; foo, wait=5', ''],
    ['return=OperationOutcome', 'OperationOutcome'],
    ['return=representation', 'Appointment'],
    ['handling=lenient', 'Appointment'],
  ])('%s on $book', async (prefer, type) => {
    const { slot, patient } = await aClinic();
    const answer = await book(proposed(patient, [slot]), 'portal-a', { prefer });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toContain('/Appointment/');
    expect(type === '' ? answer.text : answer.body).toEqual(
      type === '' ? '' : expect.objectContaining({ resourceType: type }),
    );
  });

  it.each([
    ['return=minimal', ''],
    ['return=OperationOutcome', 'OperationOutcome'],
    ['return=representation', 'Patient'],
  ])('%s on creating and updating a patient', async (prefer, type) => {
    const body = { resourceType: 'Patient', name: [{ family: randomUUID() }] };
    const created = await request('portal-a', 'POST', '/Patient', { body, headers: { prefer } });
    expect(created.status).toBe(201);
    const id = created.headers.get('location')?.split('/Patient/')[1]?.split('/')[0];
    const stored = resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${id}`));
    const updated = await request('portal-a', 'PUT', `/Patient/${id}`, {
      body: { ...stored, gender: 'other' },
      headers: { prefer },
    });
    expect(updated.status).toBe(200);
    for (const answer of [created, updated]) {
      expect(type === '' ? answer.text : answer.body).toEqual(
        type === '' ? '' : expect.objectContaining({ resourceType: type }),
      );
    }
  });
});

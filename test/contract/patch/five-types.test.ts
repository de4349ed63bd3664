import { describe, expect, it } from '@jest/globals';
import type { Appointment, Element } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { aBooking, fhirPathPatch, patch, replacing } from './fixtures.ts';

const at = (type: string, path: string) => ({ type: { valueCode: type }, path: { valueString: path } });
const named = (name: string) => ({ name: { valueString: name } });

describe('a patch of what may be changed', () => {
  it('FHIRPath Patch: add, insert, replace, move and delete, one after the other', async () => {
    const { id, booked } = await aBooking();
    const note = (text: string) => ({ valueCodeableConcept: { text } });
    const answer = await patch(
      id,
      fhirPathPatch(
        { ...at('add', 'Appointment'), ...named('comment'), value: { valueString: 'first' } },
        replacing('Appointment.comment', { valueString: 'Please ring twice' }),
        { ...at('add', 'Appointment'), ...named('reasonCode'), value: note('b') },
        { ...at('add', 'Appointment'), ...named('reasonCode'), value: note('c') },
        { ...at('insert', 'Appointment.reasonCode'), index: { valueInteger: 0 }, value: note('a') },
        { ...at('move', 'Appointment.reasonCode'), source: { valueInteger: 2 }, destination: { valueInteger: 0 } },
        at('delete', "Appointment.reasonCode.where(text = 'b')"),
      ),
    );
    const changed = resourceIn('Appointment', answer);
    expect(answer.status).toBe(200);
    expect(changed).toMatchObject({ comment: 'Please ring twice', reasonCode: [{ text: 'c' }, { text: 'a' }] });
    expect(changed.meta?.versionId).not.toBe(booked.meta?.versionId);
  });

  it('an element without a type of its own is given by its parts', async () => {
    const { id } = await aBooking();
    const value = {
      part: [
        { name: 'actor', valueReference: { reference: 'Practitioner/interpreter' } },
        { name: 'required', valueCode: 'optional' },
        { name: 'status', valueCode: 'needs-action' },
      ],
    };
    const answer = await patch(id, fhirPathPatch({ ...at('add', 'Appointment'), ...named('participant'), value }));
    expect(answer.status).toBe(200);
    expect(resourceIn('Appointment', answer).participant[1]).toEqual({
      actor: { reference: 'Practitioner/interpreter' },
      required: 'optional',
      status: 'needs-action',
    });
  });

  it('the last entry of a list takes the list along', async () => {
    const { id } = await aBooking({ reasonCode: [{ text: 'cough' }] });
    const answer = await patch(id, fhirPathPatch(at('delete', 'Appointment.reasonCode[0]')));
    expect(answer.status).toBe(200);
    expect(resourceIn('Appointment', answer)).not.toHaveProperty('reasonCode');
  });

  it('the priority, an extension of a primitive element', async () => {
    const extension = (code: string) => ({
      url: artefactUri(config, 'LocalTerminPriorityExtension'),
      valueCodeableConcept: { coding: [{ system: config.terminologySystem, code }] },
    });
    const given: Partial<Appointment> & { _priority: Element } = {
      resourceType: 'Appointment',
      _priority: { extension: [extension('25876001')] },
    };
    const { id } = await aBooking(given);
    const answer = await patch(
      id,
      fhirPathPatch(
        replacing('Appointment.priority.extension[0].value', {
          valueCodeableConcept: extension('394849002').valueCodeableConcept,
        }),
      ),
    );
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ _priority: { extension: [extension('394849002')] } });
  });

  it('JSON Patch: add, copy, move, remove and test', async () => {
    const { id } = await aBooking();
    const answer = await patch(id, [
      { op: 'add', path: '/comment', value: 'Please ring twice' },
      { op: 'copy', from: '/comment', path: '/description' },
      { op: 'add', path: '/reasonCode', value: [{ text: 'a' }] },
      { op: 'add', path: '/reasonCode/-', value: { text: 'b' } },
      { op: 'move', from: '/reasonCode/1', path: '/reasonCode/0' },
      { op: 'remove', path: '/comment' },
      { op: 'test', path: '/reasonCode', value: [{ text: 'b' }, { text: 'a' }] },
    ]);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ description: 'Please ring twice', reasonCode: [{ text: 'b' }, { text: 'a' }] });
    expect(answer.body).not.toHaveProperty('comment');
  });
});

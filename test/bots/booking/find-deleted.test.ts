import '../config.ts';
import { expect, it } from '@jest/globals';
import { handler } from '../../../bots/booking/find-deleted.ts';
import { withMedplum } from '../medplum.ts';
import { aPatient, aPortal, eventOf, type Portal, parameters, unavailable } from './fixtures.ts';

const medplum = withMedplum();

const find = (type: string, id: string | undefined, portal: Portal) =>
  handler(
    medplum().medplum,
    eventOf<unknown>(
      parameters({ name: 'x', valueId: 'x' }, { name: 'type', valueCode: type }, { name: 'id', valueId: id }),
      portal,
    ),
  );

const unknown = (name: string) => ({
  id: 'not-found',
  issue: [{ code: 'not-found', diagnostics: `There is no such ${name}.` }],
});

async function gonePatient() {
  const portal = await aPortal(medplum());
  const patient = await aPatient(medplum(), portal);
  await medplum().fhir('DELETE', `Patient/${patient.id}`);
  return { portal, patient };
}

it('what was deleted is gone to its owner, and unknown to everybody else', async () => {
  const { portal, patient } = await gonePatient();
  expect(await find('Patient', patient.id, portal)).toMatchObject({
    id: 'gone',
    issue: [{ code: 'deleted', diagnostics: 'The Patient was deleted.' }],
  });
  expect(await find('Patient', patient.id, await aPortal(medplum()))).toMatchObject(unknown('Patient'));
});

it('what is still there was not deleted', async () => {
  const portal = await aPortal(medplum());
  const patient = await aPatient(medplum(), portal);
  expect(await find('Patient', patient.id, portal)).toMatchObject(unknown('Patient'));
});

it('what was never there is unknown', async () => {
  const portal = await aPortal(medplum());
  expect(await find('Appointment', '00000000-0000-4000-8000-000000000000', portal)).toMatchObject(
    unknown('Appointment'),
  );
});

it('nothing is told without an answer of the server', async () => {
  const { portal, patient } = await gonePatient();
  medplum().interfere(unavailable);
  expect(await find('Patient', patient.id, portal)).toMatchObject(unknown('Patient'));
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  [
    'no Parameters',
    {
      resourceType: 'Basic',
      parameter: [
        { name: 'type', valueCode: 'Patient' },
        { name: 'id', valueId: 'a' },
      ],
    },
  ],
  ['no list', { resourceType: 'Parameters', parameter: 'type' }],
  [
    'a type that portals do not see',
    {
      resourceType: 'Parameters',
      parameter: [null, { name: 'type', valueCode: 'Task' }, { name: 'id', valueId: 'a' }],
    },
  ],
  ['no type', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: 'a' }] }],
  ['no id', { resourceType: 'Parameters', parameter: [{ name: 'type', valueCode: 'Patient' }] }],
  [
    'an id that is none',
    {
      resourceType: 'Parameters',
      parameter: [
        { name: 'type', valueCode: 'Patient' },
        { name: 'id', valueId: 'a/b' },
      ],
    },
  ],
])('an input with %s names nothing', async (_, input) => {
  const answer = await handler(medplum().medplum, eventOf(input, { id: 'portal', authorization: '' }));
  expect(answer).toMatchObject(unknown('resource'));
});

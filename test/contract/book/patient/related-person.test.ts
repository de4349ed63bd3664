import { expect, it } from '@jest/globals';
import { aClinic, book, parameters, proposed, stored } from '../../fixtures.ts';
import { resourceIn } from '../../http.ts';

it('related-person is created with patient set, and added as a participant', async () => {
  const { slot, patient } = await aClinic();
  const mother = { resourceType: 'RelatedPerson', patient: { reference: 'Patient/x' }, name: [{ family: 'Muster' }] };
  const answer = await book(parameters(proposed(patient, [slot]), ['related-person', mother]));
  expect(answer.status).toBe(201);
  const references = resourceIn('Appointment', answer).participant.map(({ actor }) => actor?.reference);
  expect(references).toHaveLength(2);
  const [created] = await stored('RelatedPerson', `_id=${references[1]?.split('/')[1]}`);
  expect(created?.patient.reference).toBe(`Patient/${patient.id}`);
});

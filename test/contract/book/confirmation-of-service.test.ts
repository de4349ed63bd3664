import { expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference/service-reference.ts';
import { aClinic, book, ct, proposed, succeeded } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const confirmation = (code: string) => [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }];

it.each([
  ['its HealthcareService says by hand', undefined, 'pending'],
  ['the schedule itself says at once, whatever its HealthcareService says', 'automatic', 'booked'],
])('%s', async (_, onSchedule, status) => {
  const service = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', {
      body: { resourceType: 'HealthcareService', name: 'CT', extension: confirmation('manual') },
    }),
  );
  const { slot, patient } = await aClinic({
    actor: [{ reference: `HealthcareService/${service.id}` }],
    ...(onSchedule && { extension: confirmation(onSchedule) }),
  });
  expect(resourceIn('Appointment', await book(proposed(patient, [slot]))).status).toBe(status);
});

it('the HealthcareService that its service type refers to requires confirmation by hand', async () => {
  const service = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', {
      body: { resourceType: 'HealthcareService', name: 'CT', extension: confirmation('manual') },
    }),
  );
  const reference = { url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${service.id}` } };
  const { slot, patient } = await aClinic({ serviceType: [{ ...ct, extension: [reference] }] });
  expect(resourceIn('Appointment', await book(proposed(patient, [slot]))).status).toBe('pending');
});

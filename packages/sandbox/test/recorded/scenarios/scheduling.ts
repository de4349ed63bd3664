import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { z } from 'zod';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../stage.ts';
import { schedule } from './resources.ts';

const url = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';
const minutes = (name: string, value: number) => ({ url: name, valueDuration: { value, unit: 'min' } });

/** Half an hour, ten minutes before and five after it, on Tuesdays from nine to eleven in Berlin. */
const service = (code: string): HealthcareService => ({
  resourceType: 'HealthcareService',
  name: 'Visit',
  type: [{ coding: [{ system: 'urn:services', code }] }],
  availableTime: [{ daysOfWeek: ['tue'], availableStartTime: '09:00:00', availableEndTime: '11:00:00' }],
  extension: [
    {
      url,
      extension: [
        minutes('duration', 30),
        minutes('bufferBefore', 10),
        minutes('bufferAfter', 5),
        minutes('alignmentInterval', 15),
        { url: 'timezone', valueCode: 'Europe/Berlin' },
      ],
    },
  ],
});

const offering = (id: string, code: string): Partial<Schedule> => ({
  serviceType: [
    {
      coding: [{ system: 'urn:services', code }],
      extension: [
        {
          url: 'https://medplum.com/fhir/service-type-reference',
          valueReference: { reference: `HealthcareService/${id}` },
        },
      ],
    },
  ],
});

const found = z.object({ entry: z.array(z.object({ resource: z.looseObject({ id: z.string().optional() }) })) });

/** What `$find` proposes, as it is to be booked. */
const proposals = ({ body }: Answer) =>
  found.parse(body).entry.map(({ resource }) => ({
    resourceType: 'Parameters',
    parameter: [{ name: 'appointment', resource }],
  }));

/** The appointment that `$book` or `$hold` has made. */
const bookedIn = ({ body }: Answer): string => found.parse(body).entry[0]?.resource.id ?? '';

/** Medplum's own scheduling. */
export const scheduling: Scenario = async ({ admin: { send }, unique }) => {
  const person = await send('POST Practitioner', { resourceType: 'Practitioner', name: [{ family: 'Meyer' }] });
  const { id } = await send('POST HealthcareService', service(unique));
  const actor = `Practitioner/${person.id}`;
  const calendar = await send('POST Schedule', schedule(unique, actor, offering(id, unique)));
  const find = (start: string, end: string, more = '') =>
    send(
      `GET Appointment/$find?start=${start}&end=${end}&service-type-reference=HealthcareService/${id}&schedule=Schedule/${calendar.id}${more}`,
    );
  const day = ['2031-03-04T00:00:00Z', '2031-03-05T00:00:00Z'] as const;
  const [first, , , , last] = proposals(await find(...day));
  await find(...day, '&_count=2');
  await find('2031-03-05T00:00:00Z', '2031-03-04T00:00:00Z');
  await find('2031-03-04T00:00:00Z', '2031-05-04T00:00:00Z');
  const held = await send('POST Appointment/$hold', first);
  await find(...day);
  await send('POST Appointment/$book', first);
  await send(`POST Appointment/${bookedIn(held)}/$confirm`);
  await send(`POST Appointment/${bookedIn(held)}/$confirm`);
  const booked = await send('POST Appointment/$book', last);
  await find(...day);
  await send(`POST Appointment/${bookedIn(booked)}/$cancel`);
  await send(`POST Appointment/${bookedIn(booked)}/$cancel`);
  await find(...day);
  await send('POST Slot', {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${calendar.id}` },
    status: 'free',
    start: '2031-03-04T18:00:00Z',
    end: '2031-03-04T19:00:00Z',
  });
  await find(...day);
  const silent = await send('POST HealthcareService', { resourceType: 'HealthcareService', name: 'Silent' });
  await send('POST Schedule', schedule(`${unique}-2`, actor, offering(silent.id, unique)));
  await send(
    `GET Appointment/$find?start=${day[0]}&end=${day[1]}&service-type-reference=HealthcareService/${silent.id}&schedule=Schedule/${calendar.id}`,
  );
  await send('POST Appointment/$book', { resourceType: 'Parameters', parameter: [] });
  await send('POST Appointment/unknown/$cancel');
};

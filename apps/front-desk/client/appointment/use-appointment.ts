import type { Appointment, Patient, QuestionnaireResponse, RelatedPerson } from '@medplum/fhirtypes';
import { useEffect } from 'react';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { parseInstant } from '../../../../core/fhir/instant.ts';
import { parseReference } from '../../../../core/fhir/reference.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { ownerOf } from '../../../../core/fhir/tags.ts';
import { groupOf, isOccurrence, stepIn } from '../../../../packages/web/appointments.ts';
import { listOf } from '../../../../packages/web/elements.ts';
import { historyOf, type Step } from '../../appointment/history.ts';
import { guardiansIn, patientIdOf, patientNameOf } from '../../appointment/people.ts';
import { type RestOfSeries, restOf } from '../../appointment/series.ts';
import { calendarData } from '../../day/entries.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { readAll, resourcesIn } from '../fhir/client.ts';
import { namesOf } from '../fhir/names.ts';
import { type Loaded, useLoaded } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';
import { calendarsOf } from './calendars.ts';

/** An appointment with its details for staff. */
export interface AppointmentDetails {
  readonly appointment: Appointment;
  readonly patient: Patient | undefined;
  readonly guardians: readonly RelatedPerson[];
  /** Empty if there is none. */
  readonly name: string;
  /** Names of its calendars. */
  readonly calendars: string;
  readonly answers: readonly QuestionnaireResponse[];
  /** Time of the patient's consent to the booking of an assistant, in milliseconds since 1970 UTC. */
  readonly consent: number | undefined;
  /** The appointments of its visit, itself included, sorted by time; empty for a single appointment. */
  readonly visit: readonly Appointment[];
  /** Its series from this appointment on; absent if there is nothing else to move. */
  readonly rest: RestOfSeries | undefined;
  readonly steps: readonly Step[];
  /** Names of portals, people and Bots, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** Id of the portal or person who requested it. */
  readonly owner: string | undefined;
}

/** The time of a consent, from a Provenance with an attester. */
function consentKept(kept: unknown): number | undefined {
  const isAttested =
    isResource(kept, 'Provenance') &&
    kept.agent.some(({ type }) => type?.coding?.some(({ code }) => code === 'attester'));
  return isAttested ? parseInstant(kept.occurredDateTime) : undefined;
}

async function readAppointment(id: string): Promise<AppointmentDetails | Refusal> {
  const history = await readAll([`Appointment/${id}/_history?_count=50`, `Appointment/${id}`]);
  if (isRefusal(history)) {
    return history;
  }
  const [versions, appointment] = resourcesIn(history);
  if (!isResource(appointment, 'Appointment')) {
    const status = Number(history.entry?.[1]?.response?.status?.slice(0, 3) ?? 404);
    return { refused: true, status, codes: [], sentences: [], alternatives: [] };
  }
  const known = isResource(versions, 'Bundle')
    ? resourcesIn(versions).filter((one) => isResource(one, 'Appointment'))
    : [];
  const steps = historyOf(known, config);
  const owner = ownerOf(appointment, config);
  const patient = patientIdOf(appointment);
  const answers = listOf(appointment.supportingInformation).flatMap(({ reference }) => {
    const found = parseReference(reference, config.baseUrl, ['QuestionnaireResponse']);
    return found ? [`QuestionnaireResponse/${found.id}`] : [];
  });
  const group = groupOf(appointment, artefactUri(config, 'LocalVisitGroup'));
  const token = encodeURIComponent(`${artefactUri(config, 'LocalVisitGroup')}|${group}`);
  const visit = group ? [`Appointment?identifier=${token}&_sort=date&_count=100`] : [];
  const service =
    group && isOccurrence(appointment) && stepIn(appointment, artefactUri(config, 'LocalVisitStep'))?.service;
  const consents = `Provenance?target=Appointment/${id}&_sort=-_lastUpdated&_count=1`;
  const more = [
    ...(patient ? [`Patient/${patient}`, `RelatedPerson?patient=Patient/${patient}`] : []),
    ...answers,
    consents,
    ...visit,
    ...(service ? [`HealthcareService/${service}`] : []),
  ];
  const [related, names, calendars] = await Promise.all([
    readAll(more),
    namesOf([...steps.flatMap(({ by }) => by ?? []), owner ?? '']),
    calendarsOf([appointment]),
  ]);
  const resources = isRefusal(related) ? [] : resourcesIn(related);
  const found = resources.flatMap((one) => (isResource(one, 'Bundle') ? resourcesIn(one) : []));
  const appointments = found.filter((one) => isResource(one, 'Appointment'));
  return {
    appointment,
    patient: resources.find((one) => isResource(one, 'Patient')),
    guardians: guardiansIn(found, patient),
    name: patientNameOf(appointment, calendarData(resources).patients),
    calendars: calendars.get(id) ?? '',
    answers: resources.filter((one) => isResource(one, 'QuestionnaireResponse')),
    consent: found.map(consentKept).find((one) => one !== undefined),
    visit: appointments,
    rest: restOf(
      appointment,
      appointments,
      resources.find((one) => isResource(one, 'HealthcareService')),
      config,
    ),
    steps,
    names,
    owner,
  };
}

/** Reads an appointment with its details. If the calendar shows another `version`, it is read again. */
export function useAppointment(id: string | undefined, version: string | undefined): Loaded<AppointmentDetails> {
  const loaded = useLoaded(id && `appointment ${id}`, () => readAppointment(id ?? ''));
  const { value, reload } = loaded;
  const shown = value?.appointment.meta?.versionId;
  useEffect(() => {
    if (version !== undefined && shown !== undefined && version !== shown) {
      void reload();
    }
  }, [version, shown, reload]);
  return loaded;
}

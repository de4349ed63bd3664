import type { Appointment, AppointmentParticipant } from '@medplum/fhirtypes';
import { idIn } from '../../../fhir/reference/reference.ts';
import { changedBy, ownerOf, type TagConfig } from '../../../fhir/tags.ts';
import { elementName } from '../../appointment/elements.ts';

/** The parts of an appointment that someone other than its requestor has set, according to its versions. */
export interface ClinicPart {
  /** Names of elements. */
  readonly elements: ReadonlySet<string>;
  /** Participants by their key (`participantKey`). */
  readonly participants: ReadonlySet<string>;
  /** Addresses of extensions. */
  readonly extensions: ReadonlySet<string>;
}

/** The key that tells a participant from others. */
export const participantKey = ({ actor, ...rest }: AppointmentParticipant): string =>
  actor?.reference ?? JSON.stringify({ actor, ...rest });

type Keys = Record<keyof ClinicPart, readonly string[]>;

function changedElements(before: Appointment, after: Appointment): string[] {
  const known: Readonly<Record<string, unknown>> = { ...before };
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name]),
  );
  return changed.map(([name]) => elementName(name));
}

const patientKeys = ({ participant }: Appointment): string[] =>
  participant.filter(({ actor }) => idIn(actor, 'Patient') !== undefined).map(participantKey);

/** A patient who takes the place of another one after a merge does not count as added. */
function addedParticipants(before: Appointment, after: Appointment): string[] {
  const [known, keys] = [before.participant.map(participantKey), after.participant.map(participantKey)];
  const isReplaced = patientKeys(before).some((key) => !keys.includes(key));
  const replacing = isReplaced ? patientKeys(after) : [];
  return keys.filter((key) => !known.includes(key) && !replacing.includes(key));
}

/** What a version has that the one before did not have, or had in another form. */
function changes(before: Appointment, after: Appointment): Keys {
  const known = (before.extension ?? []).map((one) => JSON.stringify(one));
  const extensions = (after.extension ?? []).filter((one) => !known.includes(JSON.stringify(one)));
  return {
    elements: changedElements(before, after),
    participants: addedParticipants(before, after),
    extensions: extensions.map(({ url }) => url),
  };
}

/** Everything that a version has, except its patients: the requestor decides who it is for. */
const everything = (version: Appointment): Keys => ({
  elements: Object.keys(version).map(elementName),
  participants: version.participant.map(participantKey).filter((key) => !patientKeys(version).includes(key)),
  extensions: (version.extension ?? []).map(({ url }) => url),
});

/**
 * The parts of an appointment that were last set by the clinic: elements, participants and extensions that a requestor who
 * sends the appointment again must not remove. The first version counts as the requestor's. If it is not known, the oldest
 * known version counts as the clinic's, because there is no telling which parts of it the clinic has set.
 *
 * @param versions - of one appointment, the oldest first, with their authors
 * @param isCut - whether there are older versions
 */
export function clinicPartOf(versions: readonly Appointment[], config: TagConfig, isCut = false): ClinicPart {
  const [oldest] = versions;
  const known = isCut && oldest ? everything(oldest) : { elements: [], participants: [], extensions: [] };
  const part = {
    elements: new Set(known.elements),
    participants: new Set(known.participants),
    extensions: new Set(known.extensions),
  };
  for (const [index, version] of versions.entries()) {
    const before = versions[index - 1];
    const isRequestors = changedBy(version.meta, before?.meta?.versionId, config) === ownerOf(version, config);
    for (const [kind, keys] of before ? Object.entries(changes(before, version)) : []) {
      for (const key of keys) {
        const set = part[kind as keyof ClinicPart];
        isRequestors ? set.delete(key) : set.add(key);
      }
    }
  }
  return part;
}

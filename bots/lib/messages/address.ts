import { createHmac, randomBytes } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Patient, Task } from '@medplum/fhirtypes';
import { patientOf } from '../../../core/booking/jobs/confirmation-task.ts';
import { mailboxOf } from '../../../core/fhir/mailbox.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { isByService, ownerOf } from '../../../core/fhir/tags.ts';
import { refusalRow, refusalSearch } from '../../../core/messages/message.ts';
import { isEnteredByClinic, type Recipient } from '../../../core/messages/recipient.ts';
import { creation, valueIn } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { ofType, readHistories, readInTransaction } from '../read.ts';
import { writeRows } from '../rows.ts';

/** The identifier of the row that has the key of the hashes. */
const KEY = 'key';

async function readKey(medplum: MedplumClient): Promise<string | undefined> {
  const [rows] = await readInTransaction(medplum, [refusalSearch([KEY], config)]);
  return valueIn(ofType('Task', rows)[0]?.input, KEY)?.valueString;
}

/** Reads the key of the hashes, or creates it; empty if it could not be created. */
async function ensureKey(medplum: MedplumClient): Promise<string> {
  const storedKey = await readKey(medplum);
  if (storedKey === undefined) {
    const input = [{ type: { text: KEY }, valueString: randomBytes(32).toString('hex') }];
    const row: Task = { ...refusalRow(KEY, true, config), input };
    await writeRows(medplum, [creation(row, refusalSearch([KEY], config))], 'The key of refusals');
  }
  return storedKey ?? (await readKey(medplum)) ?? '';
}

const hashOf = (key: string, address: string): string =>
  createHmac('sha256', key).update(mailboxOf(address)).digest('base64url');

/** The addresses whose owners refuse messages, whichever record or portal contains them. */
export async function readRefused(medplum: MedplumClient, addresses: readonly string[]): Promise<Set<string>> {
  const key = addresses.length > 0 ? await readKey(medplum) : undefined;
  if (key === undefined) {
    return new Set();
  }
  const hashes = new Map(addresses.map((address) => [address, hashOf(key, address)]));
  const [rows] = await readInTransaction(medplum, [refusalSearch([...hashes.values()], config)]);
  const refused = ofType('Task', rows)
    .filter(({ status }) => status === 'accepted')
    .flatMap(({ identifier = [] }) => identifier.map(({ value }) => value));
  return new Set(addresses.filter((address) => refused.some((value) => value?.endsWith(`/${hashes.get(address)}`))));
}

/** The entry that notes that the owner of an address wants no messages, or wants them again. */
export async function refusalEntry(medplum: MedplumClient, address: string, isRefused: boolean): Promise<BundleEntry> {
  const hash = hashOf(await ensureKey(medplum), address);
  const search = refusalSearch([hash], config);
  const [rows] = await readInTransaction(medplum, [search]);
  const [stored] = ofType('Task', rows);
  const row = refusalRow(hash, isRefused, config, stored);
  return stored ? updateEntry(stored, row) : creation(row, search);
}

export interface Addressee {
  readonly recipient: Recipient;
  /** Whether the clinic has entered the address, or a portal has that booked for its person. */
  readonly isTrusted: boolean;
  readonly isEntered: boolean;
}

/** Returns whether the clinic merged another record into a patient: a portal's address may be another person's. */
async function readMerged(medplum: MedplumClient, patients: readonly string[]): Promise<(id: string) => boolean> {
  const [found] = patients.length > 0 ? await readInTransaction(medplum, [`Patient?link=${patients.join(',')}`]) : [];
  const isMerge = ({ link = [] }: Patient, into: string): boolean =>
    link.some(({ type, other }) => type === 'replaced-by' && other.reference === into);
  const merges = ofType('Patient', found).filter(({ meta }) => !isByService(meta, config));
  return (into) => merges.some((patient) => isMerge(patient, into));
}

/**
 * Chooses the recipient for each appointment: the first candidate with a trusted address, else the first. Addresses
 * whose owners refuse messages are left out; `undefined` if none is left.
 * @param asked - with candidates as `recipientsOf` returns them
 */
export async function chooseAddressees(
  medplum: MedplumClient,
  asked: readonly { readonly appointment: Appointment; readonly candidates: readonly Recipient[] }[],
): Promise<(Addressee | undefined)[]> {
  const recipients = asked.flatMap(({ candidates }) => candidates);
  const refused = await readRefused(medplum, [...new Set(recipients.map(({ address }) => address))]);
  const submitted = recipients.filter(({ owner }) => owner !== undefined);
  const patients = asked.flatMap(({ appointment, candidates }) =>
    candidates.some(({ owner }) => owner !== undefined) ? (patientOf(appointment)?.reference ?? []) : [],
  );
  const isMerged = await readMerged(medplum, [...new Set(patients)]);
  const references = [...new Set(submitted.map(({ reference }) => reference))];
  const histories = references.length > 0 ? await readHistories(medplum, references.map(historyOf)) : [];
  const versions = new Map(
    references.map((one, index) => [one, (histories[index]?.entry ?? []).flatMap(({ resource }) => resource ?? [])]),
  );
  return asked.map(({ appointment, candidates }) => {
    const addressees = candidates
      .filter(({ address }) => !refused.has(address))
      .map((recipient): Addressee => {
        const { owner, reference } = recipient;
        const isOwn = owner === ownerOf(appointment, config) && !isMerged(patientOf(appointment)?.reference ?? '');
        const isEntered = owner === undefined || isEnteredByClinic(recipient, versions.get(reference) ?? [], config);
        return { recipient, isTrusted: isEntered || isOwn, isEntered };
      });
    return addressees.find(({ isTrusted }) => isTrusted) ?? addressees[0];
  });
}

const historyOf = (reference: string): string => `${reference}/_history?_count=100`;

import type { Bundle, BundleEntry, ExtractResource, OperationOutcome, ResourceType } from '@medplum/fhirtypes';
import { isResource } from '../../fhir/resource.ts';

const deletableTypes = ['Appointment', 'Encounter', 'Patient', 'QuestionnaireResponse', 'RelatedPerson'] as const;

/** A type whose deleted resources are gone (410) for their owner, not unknown (404). */
type DeletableType = (typeof deletableTypes)[number];

/** Whether the owner of a deleted resource of this type gets 410, not 404. */
export function isDeletable(value: unknown): value is DeletableType {
  return deletableTypes.some((type) => type === value);
}

/**
 * The reads that find a deleted resource of a requestor: its two latest versions. They need the Bot's own credentials.
 */
export function historyReads(type: ResourceType, id: string): Bundle {
  const entry: BundleEntry[] = [{ request: { method: 'GET', url: `${type}/${id}/_history?_count=2` } }];
  return { resourceType: 'Bundle', type: 'batch', entry };
}

/**
 * Reads the response to `historyReads`. Medplum hides a deleted resource from callers that see it by its tags; its
 * owner must get 410 nevertheless.
 * @returns the last version of a deleted resource, or `undefined`
 */
export function readDeleted<T extends ResourceType>(type: T, response: Bundle): ExtractResource<T> | undefined {
  const history = response.entry?.[0]?.resource;
  const [newest, ...older] = isResource(history, 'Bundle') ? (history.entry ?? []) : [];
  const isDeleted = newest !== undefined && newest.resource === undefined;
  const last = older.find(({ resource }) => resource !== undefined)?.resource;
  return isDeleted && isResource(last, type) ? last : undefined;
}

/** The outcome for a resource that is unknown to the caller (404) or deleted (410). `name` stands in its sentence. */
export function absentOutcome(kind: 'unknown' | 'deleted', name = 'appointment'): OperationOutcome {
  return {
    resourceType: 'OperationOutcome',
    id: kind === 'unknown' ? 'not-found' : 'gone',
    issue: [
      {
        severity: 'error',
        code: kind === 'unknown' ? 'not-found' : 'deleted',
        diagnostics: kind === 'unknown' ? `There is no such ${name}.` : `The ${name} was deleted.`,
      },
    ],
  };
}

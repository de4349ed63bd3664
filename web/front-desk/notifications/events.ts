import type { ParametersParameter } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { isId } from '../../../core/fhir/reference.ts';
import { isObject, isResource } from '../../../core/fhir/resource.ts';

/** An event of a Subscription, as `$events` gives it. */
interface ListedEvent {
  readonly number: number;
  /** When it happened, in milliseconds since 1970 UTC. */
  readonly time: number | undefined;
  /** Id of the appointment, if the reader may see it. */
  readonly appointment: string | undefined;
}

/** How many events are listed: the last ones. */
const LISTED = 20;

/** The number of the first event that is listed. */
export const firstListed = (events: number): number => Math.max(1, events - LISTED + 1);

const partsOf = ({ part }: ParametersParameter): readonly ParametersParameter[] => (Array.isArray(part) ? part : []);

function eventIn(parameter: ParametersParameter): ListedEvent | undefined {
  const find = (name: string) => partsOf(parameter).find((part) => part.name === name);
  const number = Number(find('event-number')?.valueString);
  const id = find('focus')?.valueReference?.reference?.split('/').at(-1);
  return Number.isSafeInteger(number) && number > 0
    ? { number, time: parseInstant(find('timestamp')?.valueInstant), appointment: isId(id) ? id : undefined }
    : undefined;
}

/** The events in an answer to `$events`, the newest first. */
export function eventsIn(bundle: unknown): ListedEvent[] {
  const entries = isResource(bundle, 'Bundle') && Array.isArray(bundle.entry) ? bundle.entry : [];
  const [first]: unknown[] = entries.map((entry) => entry?.resource);
  const parameters = isResource(first, 'Parameters') && Array.isArray(first.parameter) ? first.parameter : [];
  return parameters
    .filter((one) => isObject(one) && one.name === 'notification-event')
    .flatMap((one) => eventIn(one) ?? [])
    .toSorted((one, other) => other.number - one.number);
}

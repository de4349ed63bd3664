import type { Coding, Meta } from '@medplum/fhirtypes';
import { isReservedTag } from '../../core/fhir/reserved.ts';
import type { TagConfig } from '../../core/fhir/tags.ts';

/**
 * The `meta` of a patient that is updated: whose it is and where it came from stay as they are stored, whoever updates
 * it, so that no requestor loses its patient to clinic staff; other tags and profiles are as sent.
 *
 * @param sent - `meta` of the request, of whatever shape
 * @param stored - `meta` of the stored patient
 * @see specification 2.1 and 2.2, meta.tag
 */
export function metaOfUpdated(sent: Meta | undefined, stored: Meta | undefined, config: TagConfig): Meta {
  const isOwnership = (tag: Coding | undefined): boolean => isReservedTag(tag, config);
  const sentTags = Array.isArray(sent?.tag) ? sent.tag : [];
  const tag = [...sentTags.filter((one) => !isOwnership(one)), ...(stored?.tag ?? []).filter(isOwnership)];
  const profile = Array.isArray(sent?.profile) ? sent.profile : [];
  return { ...(profile.length > 0 && { profile }), ...(tag.length > 0 && { tag }) };
}

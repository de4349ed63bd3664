import { type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import type { Difference } from './snapshot.ts';

/**
 * A concept needs at least one coding, and each coding needs system and code.
 *
 * @param id - of an element of type CodeableConcept
 */
export function withCode(id: string): Difference[] {
  return [
    { id: `${id}.coding`, min: 1 },
    { id: `${id}.coding.system`, min: 1 },
    { id: `${id}.coding.code`, min: 1 },
  ];
}

/**
 * The tag of a resource from outside the repository: once at most.
 *
 * @see specification 2.1, meta.tag
 */
export function externalTag(type: string, config: Pick<BookingConfig, 'metaTagSystem'>): Difference[] {
  return [
    {
      id: `${type}.meta.tag`,
      slicing: { discriminator: [{ type: 'pattern', path: '$this' }], rules: 'open' },
    },
    {
      id: `${type}.meta.tag:external`,
      max: '1',
      short: 'Originates outside the repository',
      patternCoding: { system: config.metaTagSystem, code: EXTERNAL_TAG },
    },
  ];
}

/**
 * An optional extension of a resource: once at most.
 *
 * @param name - of the slice
 */
export function optionalExtension(type: string, name: string, url: string): Difference[] {
  return [
    {
      id: `${type}.extension`,
      slicing: { discriminator: [{ type: 'value', path: 'url' }], ordered: false, rules: 'open' },
    },
    { id: `${type}.extension:${name}`, max: '1', type: [{ code: 'Extension', profile: [url] }] },
    { id: `${type}.extension:${name}.url`, fixedUri: url },
  ];
}

import { type BookingConfig, EXTERNAL_TAG } from '../core/config/config.ts';
import type { Difference } from './snapshot.ts';

/**
 * A concept that must be coded: one coding at least, and each with system and code.
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
 * The tag by which a resource from outside the repository is known: once at most.
 *
 * @param type - the resource type
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
 * An extension of a resource: not demanded, once at most.
 *
 * @param type - the resource type
 * @param name - of the slice
 * @param url - canonical URL of the extension
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

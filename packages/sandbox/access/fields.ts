import { deepClone, PropertyType, satisfiedAccessPolicy } from '@medplum/core';
import type { Meta } from '@medplum/fhirtypes';
import type { Caller } from '../platform.ts';
import type { StoredResource } from '../storage/change.ts';

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A choice element `value[x]` stands for every element whose name ends with a data type. */
function namesOf(fields: Fields, name: string): string[] {
  if (!name.endsWith('[x]')) {
    return [name];
  }
  const base = name.slice(0, -3);
  return Object.keys(fields).filter((key) => {
    const type = key.slice(base.length);
    return (
      key.startsWith(base) &&
      (type in PropertyType || `${type.charAt(0).toLowerCase()}${type.slice(1)}` in PropertyType)
    );
  });
}

/** Removes an element by its path (`channel.header`) in place; lists along the path are entered. */
function removeField(input: unknown, path: string): void {
  const [first = '', ...rest] = path.split('.');
  for (const fields of Array.isArray(input) ? input : [input]) {
    if (!isFields(fields)) {
      continue;
    }
    for (const name of namesOf(fields, first)) {
      if (rest.length === 0) {
        delete fields[name];
      } else {
        removeField(fields[name], rest.join('.'));
      }
    }
  }
}

function visibleMeta(meta: Meta | undefined): Meta | undefined {
  if (!meta) {
    return undefined;
  }
  const { author, project, account, accounts, compartment, deleted, ...visible } = meta;
  return visible;
}

/**
 * Returns a copy of a resource without the fields hidden from the caller. Medplum's own fields in `meta` are included
 * only if the caller asked for them. The content of a Binary is always left out.
 */
export function visible<T extends StoredResource>(caller: Caller, resource: T): T {
  const hidden = satisfiedAccessPolicy(resource, 'read', caller.accessPolicy)?.hiddenFields ?? [];
  const shown = hidden.length > 0 ? deepClone(resource) : { ...resource };
  for (const path of hidden) {
    removeField(shown, path);
  }
  if (shown.resourceType === 'Binary') {
    removeField(shown, 'data');
  }
  return caller.isExtended ? shown : { ...shown, meta: visibleMeta(shown.meta) };
}

/**
 * Resets the fields that the caller may not write to their previous values.
 *
 * @param original - the previous version; without one, such fields are removed
 */
export function restored<T extends StoredResource>(caller: Caller, input: T, original: StoredResource | undefined): T {
  const rule = satisfiedAccessPolicy(original ?? input, original ? 'update' : 'create', caller.accessPolicy);
  const paths = [...(rule?.readonlyFields ?? []), ...(rule?.hiddenFields ?? [])];
  if (paths.length === 0) {
    return input;
  }
  const output = deepClone(input);
  for (const path of paths) {
    removeField(output, path);
    const before = original && !path.includes('.') && !path.endsWith('[x]') ? Object.entries(original) : [];
    const kept = before.find(([name, value]) => name === path && Boolean(value));
    Object.assign(output, kept ? Object.fromEntries([kept]) : {});
  }
  return output;
}

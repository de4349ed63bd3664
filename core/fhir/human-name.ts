import type { HumanName } from '@medplum/fhirtypes';

function nameText(name: HumanName | undefined): string {
  if (!name || typeof name !== 'object') {
    return '';
  }
  const parts = [name.prefix, name.given, name.family, name.suffix].flat();
  return name.text || parts.filter((part) => typeof part === 'string' && part).join(' ');
}

/** The official name of a person, else the first one; empty without a name. */
export function nameOf({ name }: { readonly name?: HumanName[] }): string {
  const names = Array.isArray(name) ? name : [];
  return nameText(names.find((one) => one?.use === 'official') ?? names[0]);
}

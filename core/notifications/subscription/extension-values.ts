import { isObject } from '../../fhir/resource.ts';

/** The values of an element's extensions with this address, whatever their type (`value[x]`). */
export function extensionValues(element: unknown, url: string): unknown[] {
  const extensions = isObject(element) && Array.isArray(element.extension) ? element.extension : [];
  return extensions
    .filter((extension) => isObject(extension) && extension.url === url)
    .map((extension) => Object.entries(extension).find(([name]) => name.startsWith('value'))?.[1]);
}

/** How many extensions an element has. */
export const extensionCount = (element: unknown): number =>
  isObject(element) && Array.isArray(element.extension) ? element.extension.length : 0;

/** A member of an object, or `undefined` of anything else. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

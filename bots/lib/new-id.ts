import { randomUUID } from 'node:crypto';

/** A fresh `urn:uuid:` for a resource that a transaction creates. */
export const newId = (): string => `urn:uuid:${randomUUID()}`;

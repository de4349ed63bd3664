/** Whether two values are the same to Medplum, which compares tokens without regard to letter case. */
export function isSameToken(one: string | undefined, other: string | undefined): boolean {
  return one?.toLowerCase() === other?.toLowerCase();
}

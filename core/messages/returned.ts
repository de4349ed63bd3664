/** A message that a mail server says it cannot deliver. */
interface Returned {
  /** As `messageNumber` names it. */
  readonly number: string;
  /** Why, as a code (RFC 3463), such as `5.1.1`: no such mailbox. */
  readonly status: string;
}

/**
 * The message of this service that a mail says was not delivered; `undefined` for any other mail, also of a delay.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3464
 */
export function returnedIn(mail: string): Returned | undefined {
  const [, status] = /^action:[ \t]*failed\b/im.test(mail)
    ? (/^status:[ \t]*(5(?:\.\d{1,3}){2})\b/im.exec(mail) ?? [])
    : [];
  const [, appointment, count] = /^message-id:\s{0,8}<([0-9a-f-]{36})\.(\d{1,6})@/im.exec(mail) ?? [];
  return status === undefined || appointment === undefined ? undefined : { number: `${appointment}/${count}`, status };
}

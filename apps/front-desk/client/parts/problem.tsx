import { Alert, Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Refusal, reasonsOf, refusalKindOf } from '../../fhir/refusal.ts';
import { useTexts } from './use-texts.ts';

/** The server's own messages, which are English. They are collapsed at first. */
export function ServerSays({ sentences }: { readonly sentences: readonly string[] }) {
  const { serverSays } = useTexts();
  return sentences.length === 0 ? null : (
    <details className="server">
      <summary>{serverSays}</summary>
      <ul lang="en">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </details>
  );
}

/** A refusal: its kind, the messages of the server, and the next step. */
export function Problem({
  refusal,
  onReload,
  children,
}: {
  readonly refusal: Refusal;
  readonly onReload?: () => void;
  readonly children?: ReactNode;
}) {
  const texts = useTexts();
  const { title, next } = texts.problem[refusalKindOf(refusal)];
  const reasons = reasonsOf(refusal, texts.reason);
  const isSaid = reasons.length > 0 && refusal.codes.every((code) => Object.hasOwn(texts.reason, code));
  return (
    <Alert color="red.9" title={title} role="alert" variant="outline" className="problem">
      {reasons.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      <p>{next}</p>
      {!isSaid && <ServerSays sentences={refusal.sentences} />}
      {children}
      {onReload && (
        <Button variant="default" size="xs" onClick={onReload}>
          {texts.reload}
        </Button>
      )}
    </Alert>
  );
}

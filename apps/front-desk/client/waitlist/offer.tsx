import { Button, Group } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { acceptance } from '../../appointment/booking.ts';
import { cancelled } from '../../appointment/status-steps.ts';
import { useChange } from '../appointment/actions.tsx';
import { book } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { Problem } from '../parts/problem.tsx';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';

/** The reply of a patient by telephone to a personal offer. */
export function OfferReply({
  offer,
  onChanged,
}: {
  readonly offer: Appointment;
  readonly onChanged: () => Promise<void>;
}) {
  const { waitlist: words } = useTexts();
  const { submit, refusal, isBusy } = useSubmit(offer.meta?.versionId);
  const decline = useChange();
  const accept = async (): Promise<void> => {
    await submit(() => book(acceptance(offer)), words.accepted);
    await onChanged();
  };
  const refuse = async (): Promise<void> => {
    if (await decline.change(cancelled(offer, ''), words.declined)) {
      await onChanged();
    }
  };
  const problem = refusal ?? decline.refusal;
  return (
    <>
      {problem && <Problem refusal={problem} onReload={() => void onChanged()} />}
      <Group gap="xs">
        <TakeBack of={offer.id ?? ''}>
          <Button loading={isBusy} onClick={() => void accept()}>
            {words.accept}
          </Button>
          <Button variant="default" loading={decline.isBusy} onClick={() => void refuse()}>
            {words.decline}
          </Button>
        </TakeBack>
      </Group>
    </>
  );
}

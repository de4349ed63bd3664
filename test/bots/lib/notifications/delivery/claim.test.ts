import '../../../config.ts';
import { expect, it } from '@jest/globals';
import type { Subscription, Task } from '@medplum/fhirtypes';
import { claimOutbox } from '../../../../../bots/lib/notifications/delivery/claim.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import { outboxTask } from '../../../../../core/notifications/delivery/outbox.ts';
import { outbox, portal, subscription } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';

const medplum = withMedplum();

it('only one delivery has an outbox', async () => {
  const stored = await medplum().create<Subscription>({
    ...subscription({ status: 'active' }),
    meta: { tag: [requestorTag(portal, config)] },
  });
  const owner = { subscription: `Subscription/${stored.id}`, subscriber: portal };
  await medplum().create<Task>(outboxTask({ ...outbox, status: 'ready', events: 1 }, owner, config));
  const claim = await claimOutbox(medplum().medplum, stored.id);
  expect(claim?.stored.outbox.status).toBe('in-progress');
  expect(await claimOutbox(medplum().medplum, stored.id)).toBeUndefined();
});

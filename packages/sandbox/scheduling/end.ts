import { allOk, isResource, type WithId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import type { SandboxRepository } from '../repository/repository.ts';
import { refusal } from './parameters.ts';

/**
 * The Slots of an appointment.
 *
 * @throws OperationOutcomeError if one cannot be read
 */
export async function slotsOf(repository: SandboxRepository, { slot = [] }: Appointment): Promise<WithId<Slot>[]> {
  const found = await repository.readReferences<Slot>(slot);
  return found.map((one, index) => {
    if (!isResource<WithId<Slot>>(one, 'Slot')) {
      throw refusal('Loading slots failed', `appointment.slot[${index}]`);
    }
    return one;
  });
}

/** `POST Appointment/{id}/$cancel`: cancels an appointment, and deletes its Slots. */
export async function cancelAppointment(repository: SandboxRepository, id: string): Promise<FhirResponse> {
  const cancelled = await repository.withTransaction(
    async (transaction) => {
      const appointment = await transaction.readResource<Appointment>('Appointment', id);
      const slots = await slotsOf(transaction, appointment);
      if (appointment.status !== 'pending' && appointment.status !== 'booked') {
        throw refusal(`Appointment cannot be canceled in '${appointment.status}' status`);
      }
      const result = await transaction.updateResource<Appointment>({ ...appointment, status: 'cancelled' });
      for (const slot of slots) {
        await transaction.deleteResource('Slot', slot.id);
      }
      return result;
    },
    { serializable: true },
  );
  return [allOk, cancelled];
}

/** `POST Appointment/{id}/$confirm`: books an appointment that `$hold` has created, and makes its Slots busy. */
export async function confirmAppointment(repository: SandboxRepository, id: string): Promise<FhirResponse> {
  const resources = await repository.withTransaction(
    async (transaction) => {
      const appointment = await transaction.readResource<Appointment>('Appointment', id);
      if (appointment.status !== 'pending' && appointment.status !== 'proposed') {
        throw refusal(`Appointment cannot be confirmed in '${appointment.status}' status`);
      }
      const slots: WithId<Slot>[] = [];
      for (const slot of await slotsOf(transaction, appointment)) {
        const isTentative = slot.status === 'busy-tentative';
        slots.push(isTentative ? await transaction.updateResource<Slot>({ ...slot, status: 'busy' }) : slot);
      }
      const booked = await transaction.updateResource<Appointment>({ ...appointment, status: 'booked' });
      return [booked, ...slots];
    },
    { serializable: true },
  );
  return [
    allOk,
    { resourceType: 'Bundle', type: 'transaction-response', entry: resources.map((resource) => ({ resource })) },
  ];
}

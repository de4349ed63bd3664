import { type DragEvent, type RefObject, useMemo } from 'react';
import type { Entry } from '../../day/entries.ts';

/** What a drag carries: the id of an appointment of this page. */
const DRAGGED = 'application/x-appointment';

/**
 * Lets appointments be dragged to free times.
 *
 * @param box - around the entries
 * @param entries - by their keys
 * @param onDrop - an appointment, by its id, was dragged to a free time
 * @returns what the box listens to
 */
export function useDrag(
  box: RefObject<HTMLElement | null>,
  entries: ReadonlyMap<string, Entry>,
  onDrop: (appointment: string, onto: Entry) => void,
) {
  return useMemo(() => {
    /** The entry at which a drag begins, passes or ends. */
    const entryAt = ({ target }: DragEvent): Entry | undefined => {
      const button = target instanceof Element ? target.closest<HTMLElement>('[data-entry]') : null;
      return entries.get(button?.dataset.entry ?? '');
    };
    return {
      onDragStart: (event: DragEvent<HTMLElement>) => {
        const entry = entryAt(event);
        if (entry?.appointment?.id) {
          event.dataTransfer.setData(DRAGGED, entry.appointment.id);
          event.dataTransfer.effectAllowed = 'move';
          box.current?.classList.add('dragging');
        }
      },
      onDragOver: (event: DragEvent<HTMLElement>) => {
        if (event.dataTransfer.types.includes(DRAGGED) && entryAt(event)?.kind === 'free') {
          event.preventDefault();
          event.dataTransfer.dropEffect = 'move';
        }
      },
      onDrop: (event: DragEvent<HTMLElement>) => {
        const onto = entryAt(event);
        const appointment = event.dataTransfer.getData(DRAGGED);
        if (onto?.kind === 'free' && appointment) {
          event.preventDefault();
          onDrop(appointment, onto);
        }
      },
      onDragEnd: () => box.current?.classList.remove('dragging'),
    };
  }, [box, entries, onDrop]);
}

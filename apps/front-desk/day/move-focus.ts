import type { Interval } from '../../../core/time/interval.ts';

type Keyed = Interval & { readonly key: string };

/** The keys that move the focus among entries. */
export type Arrow = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | 'Home' | 'End';

const arrows: readonly string[] = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End'] satisfies Arrow[];

/** Whether a key moves the focus. */
export function isArrow(key: string): key is Arrow {
  return arrows.includes(key);
}

function nearest(column: readonly Keyed[], time: number): Keyed | undefined {
  const distance = ({ start, end }: Keyed) => (time >= start && time < end ? 0 : Math.abs(start - time) + 1);
  return column.reduce<Keyed | undefined>(
    (best, one) => (best === undefined || distance(one) < distance(best) ? one : best),
    undefined,
  );
}

/** The column and key of the next entry in a direction. Without one, the focus stays. */
export function focusAfter(
  columns: readonly (readonly Keyed[])[],
  at: { readonly column: number; readonly key: string },
  arrow: Arrow,
): { readonly column: number; readonly key: string } {
  const current = columns[at.column] ?? [];
  const index = current.findIndex(({ key }) => key === at.key);
  if (arrow === 'ArrowLeft' || arrow === 'ArrowRight') {
    const step = arrow === 'ArrowLeft' ? -1 : 1;
    const time = current[index]?.start ?? 0;
    for (let column = at.column + step; column >= 0 && column < columns.length; column += step) {
      const found = nearest(columns[column] ?? [], time);
      if (found) {
        return { column, key: found.key };
      }
    }
    return at;
  }
  const wanted = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: current.length - 1 }[arrow];
  const key = current[Math.min(Math.max(wanted, 0), current.length - 1)]?.key;
  return key === undefined ? at : { column: at.column, key };
}

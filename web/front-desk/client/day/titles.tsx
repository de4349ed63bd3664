import { memo } from 'react';

/**
 * The names of the columns above them, which stay while the columns are scrolled. One row for all is moved as a whole,
 * whereas a sticky heading in each column would be drawn separately. Screen readers read the headings in the columns.
 */
export const Titles = memo(function Titles({
  columns,
}: {
  readonly columns: readonly { readonly id: string; readonly title: string; readonly dayText: string | undefined }[];
}) {
  return (
    <div className="titles" aria-hidden="true">
      <div className="corner" />
      {columns.map(({ id, title, dayText }) => (
        <div key={id}>
          {dayText && <span>{dayText}</span>}
          {title}
        </div>
      ))}
    </div>
  );
});

import { memo } from 'react';

/**
 * The names of the columns above them, which stay while the columns are scrolled. One row for all is moved at once, where a
 * heading that stays in each column would be drawn by itself. Screen readers read the headings in the columns.
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

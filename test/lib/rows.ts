/** A table of texts: a row for each line, its cells between ` ¦ `. Empty lines and those that begin with `#` say nothing. */
export const rows = (text: string): string[][] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => line.split(/\s+¦\s*/).map((cell) => cell.trim()));

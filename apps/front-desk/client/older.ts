/** Polyfills for Safari 15, Chrome 100 and Firefox 102, as far as needed. The build translates new syntax. */
const missing: readonly (readonly [object, string, (this: never, ...values: never[]) => unknown])[] = [
  [
    Array.prototype,
    'at',
    function at(this: unknown[], index: number) {
      return this[index < 0 ? this.length + index : index];
    },
  ],
  [
    Array.prototype,
    'toSorted',
    function toSorted(this: unknown[], compare?: (one: unknown, other: unknown) => number) {
      return [...this].sort(compare);
    },
  ],
  [Object, 'hasOwn', (object: object, key: string) => Reflect.getOwnPropertyDescriptor(object, key) !== undefined],
  [
    Map,
    'groupBy',
    (values: Iterable<unknown>, keyOf: (value: unknown) => unknown) => {
      const groups = new Map<unknown, unknown[]>();
      for (const value of values) {
        const key = keyOf(value);
        groups.set(key, [...(groups.get(key) ?? []), value]);
      }
      return groups;
    },
  ],
  [
    AbortSignal,
    'timeout',
    (milliseconds: number) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), milliseconds);
      return controller.signal;
    },
  ],
  [
    crypto,
    'randomUUID',
    () => {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      const hex = [...bytes].map((byte, index) => {
        const marked = index === 6 ? (byte & 0x0f) | 0x40 : index === 8 ? (byte & 0x3f) | 0x80 : byte;
        return marked.toString(16).padStart(2, '0');
      });
      return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    },
  ],
];

for (const [owner, name, value] of missing) {
  if (!(name in owner)) {
    Object.defineProperty(owner, name, { value, writable: true, configurable: true });
  }
}

export {};

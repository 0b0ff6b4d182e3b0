import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['src/**/*.spec.ts'], reporters: ['default', './vitest.tally.mjs'] }
});

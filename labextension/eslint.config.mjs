import jupyter from '@jupyter/eslint-plugin';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['assets/', 'lib/', 'node_modules/', '.yarn/', '*.mjs'] },
  jupyter.configs.recommended,
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      // Activation needs these at once; the panel, which is the heavy part, comes when first shown.
      // From a server that is gone nothing can be loaded, so its words are here before.
      'jupyter/prefer-lazy-imports': [
        'warn',
        { ignoreImports: ['./commands', './notices', './status', './words'] }
      ],
      // Lumino binds a slot's `this` by the second argument of `connect`.
      '@typescript-eslint/unbound-method': 'off',
      curly: 'error',
      eqeqeq: 'error',
      complexity: ['error', 12],
      'max-lines': ['error', 400],
      '@typescript-eslint/explicit-function-return-type': ['error', { allowExpressions: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], prefix: ['I'] }
      ]
    }
  },
  {
    // Specs compare words; they show none.
    files: ['src/__tests__/**'],
    rules: { 'jupyter/no-untranslated-string': 'off' }
  }
);

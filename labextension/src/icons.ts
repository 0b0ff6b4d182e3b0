/** Our icon, coloured by the theme. */

import { LabIcon } from '@jupyterlab/ui-components';

const CARD = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3 jp-icon-selectable" fill="#616161" fill-rule="evenodd">
    <path d="M2 4h2v16H2z"/>
    <path d="M5 6h16a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H5zm2 2v6h13V8z"/>
    <path d="M15 8.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8zm0 1.6a.8.8 0 1 0 0 1.6.8.8 0 0 0 0-1.6z"/>
    <path d="M8.5 9.5h2v3h-2zM7 17h8v2H7z"/>
  </g>
</svg>`;

export const gpuIcon = new LabIcon({ name: 'jupyterhub-gpu-commons:gpu', svgstr: CARD });

/** The dialog that asks which profile a server shall have: each with standing, price and reason. */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import type { ISwitchOffer, ISwitchSheet } from './wire';
import { offerFacts } from './words';

class OfferList extends ReactWidget implements Dialog.IBodyWidget<ISwitchOffer | null> {
  constructor(
    private readonly _sheet: ISwitchSheet,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-GpuCommons-offers');
  }

  getValue(): ISwitchOffer | null {
    return this._picked;
  }

  protected override render(): React.ReactElement {
    const trans = this._trans;
    return (
      <>
        <p>
          {trans.__(
            'It has %1 now, and keeps it until there is capacity for the new one. Then documents are saved, it is stopped and starts again by itself, with the same files. Running code ends and its memory is lost.',
            this._sheet.has
          )}
        </p>
        <fieldset>
          <legend>{trans.__('Instead')}</legend>
          {this._sheet.offers.map((offer, index) => (
            <label key={index} className="jp-GpuCommons-offer">
              <input
                type="radio"
                name="jp-GpuCommons-offer"
                onChange={() => {
                  this._picked = offer;
                }}
              />
              <span>
                <strong>{offer.title}</strong> {offerFacts(offer, trans)}
                <span className="jp-GpuCommons-note">{offer.words}</span>
              </span>
            </label>
          ))}
        </fieldset>
      </>
    );
  }

  private _picked: ISwitchOffer | null = null;
}

/** Let the person choose; null where they keep what they have. Rejects where nothing is chosen. */
export async function chooseOffer(
  sheet: ISwitchSheet,
  trans: TranslationBundle
): Promise<ISwitchOffer | null> {
  const result = await showDialog<ISwitchOffer | null>({
    title: trans.__('Change the profile'),
    body: new OfferList(sheet, trans),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Keep the present one') }),
      Dialog.okButton({ label: trans.__('Change when there is room') })
    ],
    // Enter on a choice that was only read must not stop a server.
    defaultButton: 0,
    focusNodeSelector: 'input[type=radio]'
  });
  if (result.button.accept && !result.value) {
    throw new Error(trans.__('No profile was chosen. Choose one of the list, then change.'));
  }
  return result.button.accept ? result.value : null;
}

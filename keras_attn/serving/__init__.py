"""Export of models as SavedModels for TF Serving, and clients."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "classifier_service": ["ClassifierService"],
        "client": ["GrpcClient", "RestClient"],
        "export": ["export_service", "next_version", "read_metadata", "unservable_ops"],
        "fact_service": ["FactService"],
        "function_service": ["FunctionService"],
        "parser_service": ["ParserService"],
        "precision": ["precision_of", "set_precision"],
        "question_service": ["QuestionService"],
        "sequence_service": ["SequenceService"],
        "service": ["CaptionService"],
        "spatial_transformer_service": ["SpatialTransformerService"],
        "text_label_service": ["TextLabelService"],
        "text_service": ["TextService"],
    },
)
